// The page in Korean, for a browser that asks for it.

const KOREAN = {
  "keras_elmo explorer": "keras_elmo 탐색기",
  "explorer": "탐색기",
  "Views": "화면",
  "A word in context": "문맥 속의 단어",
  "Surprise": "놀라움",
  "Tags": "태그",
  "Trained mix": "학습된 혼합",
  "Model": "모델",
  "Loading …": "불러오는 중 …",
  "Reading {0} and the text ({1} of {2}) …": "{0}와 텍스트를 읽는 중 ({1}/{2}) …",
  "One word, several meanings": "한 단어, 여러 가지 뜻",
  "Choose a word. ELMo’s layer 0 sees the word alone, the layers above see its sentence, where its meanings come apart.":
    "단어를 고르세요. ELMo의 0층은 단어만 보고, 위의 층들은 문장을 봅니다. 거기서 뜻이 갈라집니다.",
  "Sentence": "문장",
  "Show": "보기",
  "Examples": "예문",
  "Computing …": "계산 중 …",
  "The word against itself": "같은 단어끼리",
  "▶ From layer 0 up": "▶ 0층부터 위로",
  "Occurrences of": "찾는 단어",
  "A word, or the beginning of words before *": "단어, 또는 * 앞에 단어의 줄기",
  "Colours": "색",
  "clusters": "군집",
  "senses": "뜻",
  "Save the picture": "그림 저장",
  "Neighbours in context": "문맥이 비슷한 이웃",
  "The same word only": "같은 단어만",
  "What could stand there instead": "이 자리에 올 수 있는 말",
  "Sentences compared, word by word": "문장을 단어마다 견주기",
  "How near each word of the first sentence is to each of the second, and of a third: the cosine of their vectors, by layer.":
    "첫째 문장의 단어가 둘째, 셋째 문장의 단어와 얼마나 가까운지, 층마다 벡터의 코사인으로 봅니다.",
  "First sentence": "첫째 문장",
  "Second sentence": "둘째 문장",
  "Third sentence, if you like": "셋째 문장 (없어도 됩니다)",
  "Compare": "견주기",
  "How surprising is each word?": "단어마다 얼마나 뜻밖일까요?",
  "In bits, by the language model: a word of 10 bits was one in a thousand. Compare a sentence with one that differs in a word.":
    "언어 모델이 잰 비트입니다. 10비트는 천에 하나인 단어입니다. 한 단어만 다른 두 문장을 견주어 보세요.",
  "Another one, if you like": "다른 문장 (없어도 됩니다)",
  "Measure": "재기",
  "Given the words": "주어진 단어",
  "on both sides": "양쪽",
  "before": "앞",
  "after": "뒤",
  "What tag does each word get?": "단어마다 어떤 태그일까요?",
  "Your tagger’s choice for each word, and its probability. Point at a word to see the probabilities of all tags; click to keep them.":
    "태거가 단 태그와 그 확률입니다. 단어를 가리키면 모든 태그의 확률이 보이고, 누르면 그대로 남습니다.",
  "Tag": "태그 달기",
  "Words and their tags": "단어와 태그",
  "Probabilities of all tags": "모든 태그의 확률",
  "1 other tag": "다른 태그 1개",
  "{0} other tags": "다른 태그 {0}개",
  "{0}: a tag’s probability is summed over all sequences of tags that have it (CRF).":
    "{0}: 태그의 확률은 그 태그가 든 모든 태그열의 확률을 더한 것입니다 (CRF).",
  "{0}: each word gets its own likeliest tag (softmax).": "{0}: 단어마다 가장 그럴듯한 태그를 따로 고릅니다 (소프트맥스).",
  "How much of each layer does a task take?": "과제는 어느 층을 얼마나 쓸까요?",
  "A trained model mixes the layers by its own weights. Choose a CSV file of": "학습된 모델은 층을 저마다의 가중치로 섞습니다. 다음의 CSV 파일을 고르거나",
  ", or start with": ", 이렇게 시작하세요:",
  "CSV file": "CSV 파일",
  "Layer": "층",
  "the word alone": "단어만",
  "in its sentence": "문장 속에서",
  "Choose a word of the sentence.": "문장에서 단어를 고르세요.",
  "Words of the sentence": "문장의 단어",
  "The text does not have this word elsewhere.": "텍스트에 이 단어가 더 없습니다.",
  "Look at this one": "이 단어 보기",
  "given both sides": "양쪽을 보고",
  "given what comes before": "앞을 보고",
  "given what comes after": "뒤를 보고",
  "{0} of {1} occurrences in the text, and this one (ringed).": "텍스트에 나온 {1}번 가운데 {0}번과 이 단어(테두리).",
  "The text has too few other sentences with this word for a map.": "지도를 그리기에는 이 단어가 든 문장이 너무 적습니다.",
  " In layer {0} the word has much the same vector everywhere.": " {0}층에서는 어디서나 벡터가 거의 같습니다.",
  "Map of the occurrences; arrow keys go from one to the next": "나온 곳의 지도. 화살표 키로 옮겨 갑니다",
  "Cluster {0}": "군집 {0}",
  "no sense given": "뜻 표시 없음",
  "No groups stand out.": "뚜렷한 무리가 없습니다.",
  "beside {0}": "곁에: {0}",
  "a static vector: the mean, one point for all": "정적 벡터: 모두의 평균, 점 하나",
  "Rows: the first sentence. Columns: the second.": "행: 첫째 문장. 열: 둘째 문장.",
  "Rows: the first sentence. Columns: the third.": "행: 첫째 문장. 열: 셋째 문장.",
  "How near is a word of the first sentence?": "첫째 문장의 단어는 얼마나 가까울까요?",
  "to the second": "둘째에",
  "to the third": "셋째에",
  "No word stands in all three sentences.": "세 문장에 모두 나오는 단어가 없습니다.",
  "Which sense?": "어느 뜻일까요?",
  "In which sense is the marked word meant? The model answers, too: it reads the words around, not the word itself, and knows the other sentences of each sense.":
    "표시된 단어는 어느 뜻일까요? 모델도 답합니다. 모델은 단어를 뺀 나머지를 읽고, 뜻마다 다른 문장들을 알고 있습니다.",
  "The quiz asks about the sample sentences, whose senses are known. Start keras-elmo explore without --text.":
    "퀴즈는 뜻이 표시된 예문으로 냅니다. --text 없이 keras-elmo explore를 시작하세요.",
  "Senses": "뜻 고르기",
  "Next question": "다음 문제",
  "Right: {0}.": "맞았습니다: {0}.",
  "It is {0}.": "답은 {0}입니다.",
  "The model is right, too: {0}.": "모델도 맞혔습니다: {0}.",
  "The model knew it.": "모델은 맞혔습니다.",
  "The model says {0}.": "모델의 답: {0}.",
  "Cosine to the mean of each sense’s other sentences": "뜻마다 다른 문장들의 평균과의 코사인",
  "The sentence that is nearest to the model: ": "모델이 보기에 가장 가까운 문장: ",
  "Of {0} answered you have {1} right, the model {2}.": "{0}문제 가운데 {1}개를 맞혔고, 모델은 {2}개를 맞혔습니다.",
  "This model predicts no words: it has no softmax (export one with --language-model).":
    "이 모델은 소프트맥스가 없어 단어를 예측하지 못합니다 (--language-model로 내보내세요).",
  "Not in the vocabulary: taken to be as rare as the rarest word in it":
    "어휘에 없음: 어휘에서 가장 드문 단어만큼 드물다고 봅니다",
  "Together {0} bits": "모두 {0}비트",
  "; unknown: ": "; 모르는 단어: ",
  "Sentence {0}": "문장 {0}",
  "first": "첫째",
  "second": "둘째",
  "a billion times and more": "십억 배 이상",
  "{0} times": "{0}배",
  "Of different lengths: the {0} sentence has {1} bits less a word than the {2}.":
    "길이가 다릅니다: {0} 문장이 {2} 문장보다 단어마다 {1}비트 적습니다.",
  "Both sentences are about as likely.": "두 문장은 비슷하게 그럴듯합니다.",
  "The {0} sentence is {1} as likely as the {2}: {3} bits less.": "{0} 문장이 {2} 문장보다 {1} 그럴듯합니다: {3}비트 적습니다.",
  "A CSV file may have 4 MiB.": "CSV 파일은 4 MiB까지입니다.",
  "Sample: elmo-en, parts of speech (UD EWT)": "보기: elmo-en, 품사 (UD EWT)",
  "Sample: elmo-en, sentiment (SST-5)": "보기: elmo-en, 감성 (SST-5)",
  "Sample: elmo-ko, sentiment (NSMC)": "보기: elmo-ko, 감성 (NSMC)",
  "layer {0}": "{0}층",
  "layer {0}: {1} %": "{0}층: {1} %",
  "Try again": "다시 하기",
  "The server does not answer. Is keras-elmo explore still running?":
    "서버가 대답하지 않습니다. keras-elmo explore가 아직 돌고 있나요?",
  "The server answered with status {0}.": "서버가 상태 {0}(으)로 대답했습니다.",
};

// What the server says.
const MESSAGES = {
  "A sentence must have at least one word": "문장에는 단어가 하나는 있어야 합니다.",
  "A sentence may have {0} tokens. Received: {1}": "문장은 토큰 {0}개까지입니다. 받은 것: {1}개.",
  "A sentence may have {0} characters. Received: {1}": "문장은 글자 {0}개까지입니다. 받은 것: {1}개.",
  "{0} requests wait already; try again later": "벌써 요청 {0}개가 기다립니다. 나중에 다시 하세요.",
  "The body must have at most {0} bytes": "요청은 {0}바이트까지입니다.",
  "'model' must be {0}. Received: {1}": "그런 모델이 없습니다: {1}. 있는 모델: {0}.",
  "The body must arrive within {0} seconds": "요청은 {0}초 안에 와야 합니다.",
  "Too many large requests wait; try again later": "큰 요청이 너무 많이 기다립니다. 나중에 다시 하세요.",
  "The server failed; see its log": "서버에 오류가 났습니다. 서버의 기록을 보세요.",
  "about {0} % of the letters are of a language without spaces between words, of which each phrase becomes one word: segment the text before, and give the tokenizer whitespace; docs/faq.md names segmenters":
    "글자의 약 {0} %가 띄어 쓰지 않는 언어여서 구절마다 한 단어가 됩니다. 먼저 단어로 나누고 토크나이저 whitespace를 쓰세요. 도구는 docs/faq.md에 있습니다.",
  "{0}: lacks the column {1}": "{0}: {1} 열이 없습니다.",
  "{0}: line {1} must hold numbers: {2}": "{0}: {1}번째 줄에는 수가 있어야 합니다: {2}",
  "{0}: has no columns NAME/layer_0, NAME/layer_1, ...": "{0}: NAME/layer_0, NAME/layer_1, ... 열이 없습니다.",
};

export const language = navigator.language.startsWith("ko") ? "ko" : "en";

// Texts stand in the program in English; `{0}` is the first value.
export function t(text, ...values) {
  const said = language === "ko" ? KOREAN[text] ?? text : text;
  return said.replace(/\{(\d)\}/g, (_, k) => values[k]);
}

// A message of the server, with the values that stand in it.
export function said(message) {
  if (language !== "ko") return message;
  for (const [text, korean] of Object.entries(MESSAGES)) {
    const pattern = text.replace(/[.()]/g, "\\$&").replace(/\{\d\}/g, "(.*)");
    const found = new RegExp(`^${pattern}$`, "s").exec(message);
    if (found) return korean.replace(/\{(\d)\}/g, (_, k) => found[+k + 1]);
  }
  return message;
}

// The texts of the page itself.
export function translate() {
  document.documentElement.lang = language;
  document.title = t(document.title);
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const [, before, text, after] = /^(\s*)(.*?)(\s*)$/s.exec(texts.currentNode.data);
    texts.currentNode.data = before + t(text.replace(/\s+/g, " ")) + after;
  }
  for (const name of ["aria-label", "title"]) {
    for (const part of document.querySelectorAll(`[${name}]`)) part.setAttribute(name, t(part.getAttribute(name)));
  }
  document.body.style.setProperty("--computing", JSON.stringify(t("Computing …")));
}
