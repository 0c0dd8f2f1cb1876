import type { DocumentNode } from 'graphql'
import { LRUCache } from 'lru-cache'

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
  const documents = new LRUCache<string, DocumentNode>({
    maxSize: maxTokens,
    // A larger document would evict many others.
    maxEntrySize: Math.floor(maxTokens / 4),
    sizeCalculation: countTokens,
  })
  return {
    get: async (key) => documents.get(key),
    set: async (key, document) => void documents.set(key, document),
    delete: async (key) => documents.delete(key),
  }
}

function countTokens({ loc }: DocumentNode): number {
  let count = 0
  for (let token = loc?.startToken ?? null; token; token = token.next) count += 1
  return count
}
