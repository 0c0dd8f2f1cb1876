import { expect, test } from 'vitest'
import { createFetchSession, type FetchTopic } from './fetch-session.ts'

const read = (topic: string, offsets: Readonly<Record<number, string>>): FetchTopic => ({
  topic,
  partitions: Object.entries(offsets).map(([partition, fetchOffset]) => ({
    partition: Number(partition),
    fetchOffset,
    maxBytes: 1000,
  })),
})

test('the first fetch lists all partitions, and later fetches list only changed offsets', () => {
  const session = createFetchSession()
  const first = [read('a', { 0: '5', 1: '7' }), read('b', { 0: '1' })]
  expect(session.begin(first)).toEqual({ sessionId: 0, sessionEpoch: 0, topics: first, forgottenTopics: [] })
  expect(session.end({ errorCode: 0, sessionId: 77 })).toBe(true)
  expect(session.begin([read('a', { 0: '5', 1: '9' }), read('b', { 0: '1' })])).toEqual({
    sessionId: 77,
    sessionEpoch: 1,
    topics: [read('a', { 1: '9' })],
    forgottenTopics: [],
  })
  session.end({ errorCode: 0, sessionId: 77 })
  expect(session.begin([read('a', { 0: '5', 1: '9' }), read('b', { 0: '1' })])).toMatchObject({ sessionEpoch: 2, topics: [] })
})

test('a partition that is no longer read is forgotten, and is listed again when it is read again', () => {
  const session = createFetchSession()
  session.begin([read('a', { 0: '5', 1: '7' }), read('b', { 0: '1' })])
  session.end({ errorCode: 0, sessionId: 77 })
  expect(session.begin([read('a', { 1: '7' })])).toMatchObject({
    topics: [],
    forgottenTopics: [
      { topic: 'a', partitions: [0] },
      { topic: 'b', partitions: [0] },
    ],
  })
  session.end({ errorCode: 0, sessionId: 77 })
  expect(session.begin([read('a', { 0: '5', 1: '7' })])).toMatchObject({ topics: [read('a', { 0: '5' })], forgottenTopics: [] })
})

test('the next fetch lists all partitions in a new session if the broker has forgotten the session', () => {
  const session = createFetchSession()
  const all = [read('a', { 0: '5' })]
  session.begin(all)
  session.end({ errorCode: 0, sessionId: 77 })
  session.begin(all)
  expect(session.end({ errorCode: 70 })).toBe(false)
  expect(session.begin(all)).toEqual({ sessionId: 0, sessionEpoch: 0, topics: all, forgottenTopics: [] })
})

test('the fetch after a failed one lists all partitions, and closes the old session', () => {
  const session = createFetchSession()
  const all = [read('a', { 0: '5' })]
  session.begin(all)
  session.end({ errorCode: 0, sessionId: 77 })
  session.begin(all)
  session.reset()
  expect(session.begin(all)).toEqual({ sessionId: 77, sessionEpoch: 0, topics: all, forgottenTopics: [] })
  session.end({ errorCode: 0, sessionId: 78 })
  expect(session.begin(all)).toMatchObject({ sessionId: 78, sessionEpoch: 1, topics: [] })
})

test('fetches without a session begin with another topic each time', () => {
  const session = createFetchSession()
  const all = ['a', 'b', 'c'].map((topic) => read(topic, { 0: '5' }))
  const firstTopics = all.map(() => {
    const { topics } = session.begin(all)
    session.end({ errorCode: 0, sessionId: 0 })
    return topics[0]?.topic
  })
  expect(firstTopics).toEqual(['a', 'b', 'c'])
})

test('a broker without room for a session gets all partitions each time', () => {
  const session = createFetchSession()
  const all = [read('a', { 0: '5' })]
  session.begin(all)
  expect(session.end({ errorCode: 0, sessionId: 0 })).toBe(true)
  expect(session.begin(all)).toEqual({ sessionId: 0, sessionEpoch: 0, topics: all, forgottenTopics: [] })
})
