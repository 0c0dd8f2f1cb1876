/** A map of bounded size that forgets what was used longest ago. A Map keeps the order of insertion, which is all it takes. */
export type Lru<K, V> = {
  get(key: K): V | undefined
  set(key: K, value: V): void
  delete(key: K): void
}

export function lru<K, V>(capacity: number): Lru<K, V> {
  const entries = new Map<K, V>()
  return {
    get(key) {
      const value = entries.get(key)
      if (value !== undefined) {
        entries.delete(key)
        entries.set(key, value)
      }
      return value
    },
    set(key, value) {
      entries.delete(key)
      entries.set(key, value)
      if (entries.size > capacity) entries.delete(entries.keys().next().value as K) // not empty: it was just added to
    },
    delete: (key) => void entries.delete(key),
  }
}
