/**
 * The number of streams in each cache of the runtime. Most streams are soon finished and never used again, so memory stays
 * constant. If an entry was dropped too early, it is read, sent or set again.
 */
export const STREAM_CACHE_SIZE = 1024

/** A map of bounded size that drops entries that were not used for long. */
export type Lru<K, V> = {
  get(key: K): V | undefined
  set(key: K, value: V): void
  delete(key: K): void
}

/**
 * Creates a map of two halves. Used entries are in the young half. When it is full, the old half is dropped and the young
 * half becomes the old half. Moving an entry at every use would cost more than making most entries again.
 */
export function createLru<K, V>(capacity: number): Lru<K, V> {
  const half = Math.max(1, Math.floor(capacity / 2))
  let [young, old] = [new Map<K, V>(), new Map<K, V>()]

  function set(key: K, value: V): void {
    if (young.size >= half && !young.has(key)) [young, old] = [new Map<K, V>(), young]
    young.set(key, value)
  }
  return {
    get(key) {
      const value = young.get(key)
      if (value !== undefined) return value
      const known = old.get(key)
      if (known !== undefined) set(key, known)
      return known
    },
    set,
    delete(key) {
      young.delete(key)
      old.delete(key)
    },
  }
}
