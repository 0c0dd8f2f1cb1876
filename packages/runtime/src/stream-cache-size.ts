/**
 * The number of streams in each cache of the runtime. Most streams are soon finished and never used again, so memory stays
 * constant. If an entry was dropped too early, it is read, sent or set again.
 */
export const STREAM_CACHE_SIZE = 1024
