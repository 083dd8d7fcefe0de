"""Models that somebody has made to do harm: files as real as any, tried one by one."""
