/**
 * Of so many streams something is kept in mind. Soon most of them are finished and not asked for any more, so that memory
 * stays what it is however many there were; of one that was forgotten too early it is read, asked or set once more.
 */
export const STREAMS_UNDER_WAY = 1024

/** A map of bounded size that forgets what was not used for long. */
export type Lru<K, V> = {
  get(key: K): V | undefined
  set(key: K, value: V): void
  delete(key: K): void
}

/**
 * Two halves: what is used goes into the young one, and when that is full, the old one is forgotten and they change places.
 * To move an entry at every use would cost more than most of what is kept here takes to find anew.
 */
export function lru<K, V>(capacity: number): Lru<K, V> {
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
