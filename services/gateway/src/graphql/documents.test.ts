import { type DocumentNode, parse } from 'graphql'
import assert from 'node:assert/strict'
import { test } from 'vitest'
import { type Documents, openDocuments } from './documents.ts'

// Compared by themselves: to show how two documents differ takes longer than anybody waits.
const isKept = async (documents: Documents, key: string, document?: DocumentNode): Promise<boolean> => {
  const found = await documents.get(key)
  return document === undefined ? found !== undefined : found === document
}

/** 9 tokens, with those at its beginning and its end. */
const plain = (name: string) => parse(`{ a { ${name} } } # ${name}`)

test('documents are found again as long as all of them are few', async () => {
  const documents = openDocuments(40)
  const [one, other] = [plain('one'), plain('other')]
  await documents.set('one', one)
  await documents.set('other', other)
  assert.ok(await isKept(documents, 'one', one))
  assert.ok(await isKept(documents, 'other', other))
  assert.ok(!(await isKept(documents, 'another')))
  assert.equal(await documents.delete('one'), true)
  assert.equal(await documents.delete('one'), false)
  assert.ok(!(await isKept(documents, 'one')))
})

test('those go first that nobody asked for', async () => {
  const documents = openDocuments(40)
  for (const name of ['a', 'b', 'c', 'd']) await documents.set(name, plain(name))
  assert.ok(await isKept(documents, 'a'))
  await documents.set('e', plain('e'))
  const left = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => isKept(documents, name)))
  assert.deepEqual(left, [true, false, true, true, true])
})

test('one that is set again counts once', async () => {
  const documents = openDocuments(40)
  for (let at = 0; at < 20; at++) await documents.set('again', plain('again'))
  for (const name of ['a', 'b', 'c']) await documents.set(name, plain(name))
  assert.ok(await isKept(documents, 'again'))
})

test('comments count, and what is mostly comments is not kept', async () => {
  const documents = openDocuments(40)
  await documents.set('plain', plain('plain'))
  await documents.set('long', parse(`${'#\n'.repeat(100_000)}{ a }`, { maxTokens: 2000 }))
  assert.ok(!(await isKept(documents, 'long')))
  assert.ok(await isKept(documents, 'plain'))
})
