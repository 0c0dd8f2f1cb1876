import type { DocumentNode } from 'graphql'

/** Of all documents together. A token takes some 350 bytes, with its part of the tree; a document of a client some hundred tokens. */
const MOST_TOKENS = 40_000

/** Documents that were read and found valid, by their hash: what Apollo keeps them in. */
export type Documents = {
  get(key: string): Promise<DocumentNode | undefined>
  set(key: string, document: DocumentNode): Promise<void>
  delete(key: string): Promise<boolean>
}

/**
 * Those that were asked for last. A document counts as what it takes: its comments too, which the reader counts nowhere and
 * which hang on it all the same, so that whoever sends ever new ones, or long ones that say little, fills no memory.
 */
export function openDocuments(mostTokens = MOST_TOKENS): Documents {
  const kept = new Map<string, { readonly document: DocumentNode; readonly tokens: number }>()
  let all = 0
  const drop = (key: string): boolean => {
    all -= kept.get(key)?.tokens ?? 0
    return kept.delete(key)
  }
  const keep = (key: string, document: DocumentNode, tokens: number): void => {
    kept.set(key, { document, tokens })
    all += tokens
  }
  return {
    get: async (key) => {
      const found = kept.get(key)
      if (!found) return undefined
      drop(key)
      keep(key, found.document, found.tokens)
      return found.document
    },
    set: async (key, document) => {
      const tokens = tokensOf(document)
      drop(key)
      // It would push out all others for one that comes once.
      if (tokens > mostTokens / 4) return
      keep(key, document, tokens)
      for (const oldest of kept.keys()) {
        if (all <= mostTokens) break
        drop(oldest)
      }
    },
    delete: async (key) => drop(key),
  }
}

function tokensOf({ loc }: DocumentNode): number {
  let count = 0
  for (let token = loc?.startToken ?? null; token; token = token.next) count += 1
  return count
}
