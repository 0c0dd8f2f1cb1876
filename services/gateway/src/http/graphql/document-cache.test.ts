import { type DocumentNode, parse } from 'graphql'
import assert from 'node:assert/strict'
import { test } from 'vitest'
import { type DocumentCache, openDocumentCache } from './document-cache.ts'

// The documents are compared by identity: a printed difference of two documents would take too long.
const isCached = async (documents: DocumentCache, key: string, document?: DocumentNode): Promise<boolean> => {
  const found = await documents.get(key)
  return document === undefined ? found !== undefined : found === document
}

/** Parses a document of 9 tokens, including the tokens at its start and end. */
const plain = (name: string) => parse(`{ a { ${name} } } # ${name}`)

test('documents stay cached while all of them fit into the cache', async () => {
  const documents = openDocumentCache(40)
  const [one, other] = [plain('one'), plain('other')]
  await documents.set('one', one)
  await documents.set('other', other)
  assert.ok(await isCached(documents, 'one', one))
  assert.ok(await isCached(documents, 'other', other))
  assert.ok(!(await isCached(documents, 'another')))
  assert.equal(await documents.delete('one'), true)
  assert.equal(await documents.delete('one'), false)
  assert.ok(!(await isCached(documents, 'one')))
})

test('the least recently used document is dropped first', async () => {
  const documents = openDocumentCache(40)
  for (const name of ['a', 'b', 'c', 'd']) await documents.set(name, plain(name))
  assert.ok(await isCached(documents, 'a'))
  await documents.set('e', plain('e'))
  const states = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => isCached(documents, name)))
  assert.deepEqual(states, [true, false, true, true, true])
})

test('a document that is set again counts once', async () => {
  const documents = openDocumentCache(40)
  for (let at = 0; at < 20; at++) await documents.set('again', plain('again'))
  for (const name of ['a', 'b', 'c']) await documents.set(name, plain(name))
  assert.ok(await isCached(documents, 'again'))
})

test('comments count, so that a document of mostly comments is not cached', async () => {
  const documents = openDocumentCache(40)
  await documents.set('plain', plain('plain'))
  await documents.set('long', parse(`${'#\n'.repeat(100_000)}{ a }`, { maxTokens: 2000 }))
  assert.ok(!(await isCached(documents, 'long')))
  assert.ok(await isCached(documents, 'plain'))
})
