import { expect, test } from 'vitest'
import { answerWith, createFakeClient } from './client.fixture.ts'

const pageOf = (ids: readonly string[], total: number) =>
  answerWith({ data: { payment: { transaction: { find_many: { total_count: total, list: ids.map((id) => ({ id })) } } } } })

const readRequestedPages = (requests: readonly { readonly variables: Readonly<Record<string, unknown>> }[]) =>
  requests.map(({ variables }) => (variables['input'] as { page: unknown }).page)

test('all entries are read page by page', async () => {
  const { client, requests } = createFakeClient([pageOf(['a', 'b'], 3), pageOf(['c'], 3)])
  const ids: string[] = []
  for await (const { id } of client.payment.transaction.findMany.all({ wallet_id: 'w1', page: { limit: 2 } })) ids.push(id)
  expect(ids).toEqual(['a', 'b', 'c'])
  expect(readRequestedPages(requests)).toEqual([
    { limit: 2, offset: 0 },
    { limit: 2, offset: 2 },
  ])
  expect(requests[0]?.variables).toMatchObject({ input: { wallet_id: 'w1' } })
})

test('an entry that a new one moves to the next page is returned once', async () => {
  const { client } = createFakeClient([pageOf(['c', 'b'], 3), pageOf(['b', 'a'], 4)])
  const ids: string[] = []
  for await (const { id } of client.payment.transaction.findMany.all({ wallet_id: 'w1', page: { limit: 2 } })) ids.push(id)
  expect(ids).toEqual(['c', 'b', 'a'])
})

test('an entry that several new ones move over more than one page is returned once', async () => {
  const { client } = createFakeClient([pageOf(['b'], 2), pageOf(['c'], 4), pageOf(['b'], 4), pageOf(['a'], 4)])
  const ids: string[] = []
  for await (const { id } of client.payment.transaction.findMany.all({ wallet_id: 'w1', page: { limit: 1 } })) ids.push(id)
  expect(ids).toEqual(['b', 'c', 'a'])
})

test('pages begin at the offset of the caller, and end at an empty one', async () => {
  const { client, requests } = createFakeClient([pageOf(['a'], 99), pageOf([], 99)])
  const lengths: number[] = []
  for await (const { list } of client.payment.transaction.findMany.pages({ wallet_id: 'w1', page: { offset: 40 } }))
    lengths.push(list.length)
  expect(lengths).toEqual([1, 0])
  expect(readRequestedPages(requests)).toEqual([
    { limit: 100, offset: 40 },
    { limit: 100, offset: 41 },
  ])
})

test('a reader that stops requests no further page', async () => {
  const { client, requests } = createFakeClient([pageOf(['a', 'b'], 4), pageOf(['c', 'd'], 4)])
  for await (const { id } of client.payment.transaction.findMany.all({ wallet_id: 'w1' })) if (id === 'a') break
  expect(requests).toHaveLength(1)
})
