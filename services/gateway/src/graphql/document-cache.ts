import type { DocumentNode } from 'graphql'

/**
 * The maximum number of tokens of all cached documents. A token and its part of the syntax tree occupy about 350 bytes. A usual
 * document has about 100 tokens.
 */
const MAX_CACHED_TOKENS = 40_000

/** The cache in which Apollo stores parsed and validated documents, by their hash. */
export type DocumentCache = {
  get(key: string): Promise<DocumentNode | undefined>
  set(key: string, document: DocumentNode): Promise<void>
  delete(key: string): Promise<boolean>
}

/**
 * Caches the most recently used documents. A document's size counts its comments too: they stay in memory, but the parser's
 * token limit ignores them. So neither many new documents nor documents with long comments can fill the memory.
 */
export function openDocumentCache(maxTokens = MAX_CACHED_TOKENS): DocumentCache {
  const entries = new Map<string, { readonly document: DocumentNode; readonly tokens: number }>()
  let totalTokens = 0
  const remove = (key: string): boolean => {
    totalTokens -= entries.get(key)?.tokens ?? 0
    return entries.delete(key)
  }
  const add = (key: string, document: DocumentNode, tokens: number): void => {
    entries.set(key, { document, tokens })
    totalTokens += tokens
  }
  return {
    get: async (key) => {
      const entry = entries.get(key)
      if (!entry) return undefined
      remove(key)
      add(key, entry.document, entry.tokens)
      return entry.document
    },
    set: async (key, document) => {
      const tokens = countTokens(document)
      remove(key)
      // Such a large document would evict many others.
      if (tokens > maxTokens / 4) return
      add(key, document, tokens)
      for (const oldest of entries.keys()) {
        if (totalTokens <= maxTokens) break
        remove(oldest)
      }
    },
    delete: async (key) => remove(key),
  }
}

function countTokens({ loc }: DocumentNode): number {
  let count = 0
  for (let token = loc?.startToken ?? null; token; token = token.next) count += 1
  return count
}
