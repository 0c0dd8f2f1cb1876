import { Bug } from '@penstock/kernel/result.ts'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AppendOutcome, EventStore, ExpectedRevision, NewEvent, StoredEvent } from './event-store.ts'

/** The data of a store, and the actions of a test on it. */
export type EventStoreFixture = {
  /** Opens a store on the data, as a starting process would. The fixture closes it. */
  open(): Promise<EventStore>
  /** Closes the last opened store and opens the data again. */
  reopen(): Promise<EventStore>
  /** Another process appends and is killed (SIGKILL) before or after the events are durable, and before it gets the answer. */
  crash?(
    moment: 'before-commit' | 'after-commit',
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
  ): Promise<void>
  /** Another process appends and ends normally. */
  elsewhere?(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<void>
  teardown(): Promise<void>
}

/** `processes`: whether other processes use the store, too. With 'only', the cases without them are left out. */
export type EventStoreFeatures = { readonly processes: boolean | 'only' }

type CreateFixture = () => Promise<EventStoreFixture>

let counter = 0
/** A new event with an id of its own; the text goes into its data. */
const event = (text = ''): NewEvent => ({
  id: `00000000-0000-4000-8000-${(++counter).toString(16).padStart(12, '0')}`,
  type: 'Happened',
  data: JSON.stringify({ text }),
  meta: '{"v":1}',
})
const events = (count: number): NewEvent[] => Array.from({ length: count }, () => event())
const idsOf = (found: readonly { readonly id: string }[]): string[] => found.map(({ id }) => id)

/** Cases that every event store implementation must pass. */
export function eventStoreContract(name: string, open: CreateFixture, features: EventStoreFeatures = { processes: false }): void {
  describe(`event store: ${name}`, () => {
    let fixture: EventStoreFixture
    let store: EventStore
    beforeEach(async () => {
      fixture = await open()
      store = await fixture.open()
    })
    afterEach(() => fixture.teardown())
    const here = { fixture: () => fixture, store: () => store }
    const suites = {
      ...(features.processes !== 'only' && {
        append: testAppend,
        'repeated append': testRepeatedAppend,
        read: testRead,
        follow: testFollow,
        'any history': () => testProperties(open),
      }),
      ...(features.processes !== false && { 'other processes': testOtherProcesses }),
    }
    for (const [title, suite] of Object.entries(suites))
      describe(`${title}:`, () => {
        suite(here)
      })
  })
}

type SuiteContext = { readonly fixture: () => EventStoreFixture; readonly store: () => EventStore }

function testAppend({ store }: SuiteContext): void {
  it('numbers revisions from 0, and positions in ascending order', async () => {
    const first = await store().append('order-1', 'none', events(2))
    const second = await store().append('order-1', 1, events(1))
    expect(first).toMatchObject({ outcome: 'appended', revision: 1 })
    expect(second).toMatchObject({ outcome: 'appended', revision: 2 })
    const stored = await store().read('order-1')
    expect(stored.map(({ revision }) => revision)).toEqual([0, 1, 2])
    expect(second).toMatchObject({ position: stored.at(-1)?.position })
  })
  it('refuses to create an existing stream, and returns its revision', async () => {
    await store().append('order-1', 'none', events(3))
    expect(await store().append('order-1', 'none', events(1))).toEqual({ outcome: 'conflict', revision: 2 })
    expect(await store().read('order-1')).toHaveLength(3)
  })
  it('refuses a past or a future revision, and returns the actual revision', async () => {
    await store().append('order-1', 'none', events(2))
    expect(await store().append('order-1', 0, events(1))).toEqual({ outcome: 'conflict', revision: 1 })
    expect(await store().append('order-1', 7, events(1))).toEqual({ outcome: 'conflict', revision: 1 })
    expect(await store().append('order-2', 0, events(1))).toEqual({ outcome: 'conflict', revision: 'none' })
  })
  it('appends the events of only one of many concurrent writers at a revision', async () => {
    await store().append('order-1', 'none', events(1))
    const answers = await Promise.all(Array.from({ length: 16 }, () => store().append('order-1', 0, events(2))))
    expect(answers.filter(({ outcome }) => outcome === 'appended')).toHaveLength(1)
    expect(answers.filter((answer) => answer.outcome === 'conflict' && answer.revision === 2)).toHaveLength(15)
    expect(await store().read('order-1')).toHaveLength(3)
  })
  it('stores a batch completely or not at all', async () => {
    const batch = events(5)
    await store().append('order-1', 'none', batch)
    await store().append('order-1', 3, events(2))
    expect(idsOf(await store().read('order-1'))).toEqual(idsOf(batch))
  })
  it('throws a Bug for an empty batch, a repeated id and a stream without an id', async () => {
    const [one] = events(1)
    if (!one) throw new Error('no event was created')
    await expect(store().append('order-1', 'none', [])).rejects.toThrow(Bug)
    await expect(store().append('order-1', 'none', [one, one])).rejects.toThrow(Bug)
    await expect(store().append('order', 'none', [one])).rejects.toThrow(Bug)
    expect(await store().read('order-1')).toEqual([])
  })
  it('stores data and meta byte for byte', async () => {
    const texts = [
      '{"b":1,"a":1.0,"c":"\\u0000"}',
      '{"é":"日本語 🦫 \u2028 \\ud800"}',
      `{ "spaced" :\t[] }`,
      `"${'x€'.repeat(1 << 18)}"`,
    ]
    const batch = texts.map((text) => ({ ...event(), data: text, meta: `[${text}]` }))
    await store().append('order-1', 'none', batch)
    const stored = await store().read('order-1')
    expect(stored.map(({ data }) => data)).toEqual(texts)
    expect(stored.map(({ meta }) => meta)).toEqual(texts.map((text) => `[${text}]`))
  })
}

function testRepeatedAppend({ store, fixture }: SuiteContext): void {
  it('returns the first success, at the beginning of a stream and later', async () => {
    const [first, second] = [events(2), events(3)]
    const answers = [await store().append('order-1', 'none', first), await store().append('order-1', 1, second)]
    await store().append('order-1', 4, events(1))
    expect([await store().append('order-1', 'none', first), await store().append('order-1', 1, second)]).toEqual(answers)
    expect(await store().read('order-1')).toHaveLength(6)
  })
  it('returns the first success after a restart', async () => {
    const batch = events(2)
    const answer = await store().append('order-1', 'none', batch)
    expect(await (await fixture().reopen()).append('order-1', 'none', batch)).toEqual(answer)
  })
  it('returns one success to two concurrent calls', async () => {
    const batch = events(2)
    const answers = await Promise.all([store().append('order-1', 'none', batch), store().append('order-1', 'none', batch)])
    expect(answers[1]).toEqual(answers[0])
    expect(answers[0]?.outcome).toBe('appended')
    expect(await store().read('order-1')).toHaveLength(2)
  })
  it('throws a Bug for a batch that is stored in part, in another order or elsewhere in the stream', async () => {
    const [a, b, c] = [event('a'), event('b'), event('c')]
    await store().append('order-1', 'none', [a, b])
    for (const batch of [
      [a, c],
      [b, a],
      [a, b, c],
      [c, b],
    ])
      await expect(store().append('order-1', 'none', batch)).rejects.toThrow(Bug)
    await expect(store().append('order-1', 0, [a])).rejects.toThrow(Bug)
    expect(idsOf(await store().read('order-1'))).toEqual(idsOf([a, b]))
  })
  it('stores an append although a concurrent append throws a Bug', async () => {
    const batch = events(2)
    await store().append('order-1', 'none', batch)
    const [bug, fine] = await Promise.allSettled([
      store().append('order-1', 'none', [...batch].reverse()),
      store().append('order-2', 'none', events(1)),
    ])
    expect(bug?.status).toBe('rejected')
    expect(fine?.status).toBe('fulfilled')
  })
}

function testRead({ store }: SuiteContext): void {
  it('returns a part of a stream, and nothing for a missing stream', async () => {
    const batch = events(5)
    await store().append('order-1', 'none', batch)
    expect(idsOf(await store().read('order-1', 1, 3))).toEqual(idsOf(batch.slice(1, 4)))
    expect(await store().read('order-1', 5)).toEqual([])
    expect(await store().read('order-2')).toEqual([])
  })
  it('answers each of many concurrent reads by itself', async () => {
    const streams = Array.from({ length: 40 }, (_, n) => ({ name: `${n % 3 === 0 ? 'hold' : 'order'}-${n}`, batch: events(4) }))
    for (const { name, batch } of streams) await store().append(name, 'none', batch)
    const reads = streams.flatMap(({ name, batch }, n) => [
      { name, from: n % 5, max: 2, ids: idsOf(batch.slice(n % 5, (n % 5) + 2)) },
      { name: `missing-${n}`, from: 0, max: undefined, ids: [] },
      { name, from: 0, max: undefined, ids: idsOf(batch) },
    ])
    const found = await Promise.all(reads.map(({ name, from, max }) => store().read(name, from, max)))
    expect(found.map(idsOf)).toEqual(reads.map(({ ids }) => ids))
  })
  it('returns the whole log, or the events of categories, in pages', async () => {
    const written: StoredEvent[] = []
    for (let n = 0; n < 30; n++) {
      const stream = `${n % 3 === 0 ? 'hold' : 'order'}-${n}`
      await store().append(stream, 'none', events(1 + (n % 4)))
      written.push(...(await store().read(stream)))
    }
    for (const categories of [undefined, ['hold'], ['hold', 'order'], ['ghost']]) {
      const found: StoredEvent[] = []
      for (
        let page = await store().readAll('start', 7, categories);
        page.length > 0;
        page = await store().readAll(found.at(-1)!.position, 7, categories)
      ) {
        expect(page.length).toBeLessThanOrEqual(7)
        found.push(...page)
      }
      expect(found).toEqual(written.filter(({ stream }) => !categories || categories.includes(stream.split('-')[0] ?? '')))
    }
  })
  it('uses the part of a name before the first dash as the category', async () => {
    await store().append('hold-a-b', 'none', events(1))
    await store().append('holder-a', 'none', events(1))
    expect((await store().readAll('start', 9, ['hold'])).map(({ stream }) => stream)).toEqual(['hold-a-b'])
  })
}

/** Follows until it has received `count` events. */
async function collect(
  store: EventStore,
  count: number,
  after: bigint | 'start' = 'start',
  categories = ['order'],
): Promise<StoredEvent[]> {
  const stop = new AbortController()
  const seen: StoredEvent[] = []
  if (count === 0) return seen
  for await (const batch of store.follow({ categories, after, signal: stop.signal })) {
    seen.push(...batch)
    if (seen.length >= count) stop.abort()
  }
  return seen
}

function testFollow({ store, fixture }: SuiteContext): void {
  it('yields stored and new events in the order of the log', async () => {
    await store().append('order-1', 'none', events(2))
    const seen = collect(store(), 302)
    await Promise.all(Array.from({ length: 100 }, (_, n) => store().append(`order-${n + 2}`, 'none', events(3))))
    expect(await seen).toEqual(await store().readAll('start', 1000))
  })
  it('starts after the given position', async () => {
    await store().append('order-1', 'none', events(3))
    const all = await store().read('order-1')
    expect(await collect(store(), 2, all[0]?.position)).toEqual(all.slice(1))
    const later = collect(store(), 1, all[2]?.position)
    await store().append('order-1', 2, events(1))
    expect((await later).map(({ revision }) => revision)).toEqual([3])
  })
  it('yields only its categories, also after many events of other categories', async () => {
    const seen = collect(store(), 2, 'start', ['hold', 'payout'])
    for (let n = 0; n < 40; n++) await store().append(`order-${n}`, 'none', events(40))
    await store().append('hold-1', 'none', events(1))
    for (let n = 0; n < 40; n++) await store().append(`order-${n}`, 39, events(1))
    await store().append('payout-1', 'none', events(1))
    expect((await seen).map(({ stream }) => stream)).toEqual(['hold-1', 'payout-1'])
  })
  it('continues from a position after a restart, in the same order', async () => {
    for (let n = 0; n < 10; n++) await store().append(`order-${n}`, 'none', events(2))
    const before = await collect(store(), 20)
    const reopened = await fixture().reopen()
    await reopened.append('order-10', 'none', events(1))
    expect((await collect(reopened, 21)).slice(0, 20)).toEqual(before)
    expect(await collect(reopened, 11, before[9]?.position)).toHaveLength(11)
  })
  it('ends when its signal aborts, and when the store closes', async () => {
    const stop = new AbortController()
    const follow = (signal: AbortSignal) =>
      store()
        .follow({ categories: ['order'], after: 'start', signal })
        [Symbol.asyncIterator]()
    const [stopped, closed] = [follow(stop.signal), follow(new AbortController().signal)]
    const firsts = Promise.all([stopped.next(), closed.next()])
    await store().append('order-1', 'none', events(1))
    await firsts
    const ends = Promise.all([stopped.next(), closed.next()])
    stop.abort()
    await fixture().reopen()
    expect(await ends).toMatchObject([{ done: true }, { done: true }])
  })
}

function testOtherProcesses({ store, fixture }: SuiteContext): void {
  for (const moment of ['before-commit', 'after-commit'] as const)
    it(`stores each event once if a writer is killed ${moment} and another writer repeats its append`, async () => {
      await store().append('order-1', 'none', events(1))
      const batch = events(3)
      await fixture().crash?.(moment, 'order-1', 0, batch)
      expect(await store().read('order-1')).toHaveLength(moment === 'before-commit' ? 1 : 4)
      const reopened = await fixture().reopen()
      expect(await reopened.append('order-1', 0, batch)).toMatchObject({ outcome: 'appended', revision: 3 })
      expect(idsOf(await reopened.read('order-1', 1))).toEqual(idsOf(batch))
    })
  it('sees an append of another process when it follows and when it appends', async () => {
    await store().append('order-1', 'none', events(1))
    const seen = collect(store(), 2)
    await fixture().elsewhere?.('order-1', 0, events(1))
    expect((await seen).map(({ revision }) => revision)).toEqual([0, 1])
    await fixture().elsewhere?.('order-1', 1, events(1))
    expect(await store().append('order-1', 1, events(1))).toEqual({ outcome: 'conflict', revision: 2 })
    expect(await store().append('order-1', 2, events(1))).toMatchObject({ outcome: 'appended', revision: 3 })
  })
}

/** An append of a writer: the stream, the error in its expected revision, and the number of events. */
type AppendStep = { readonly stream: number; readonly offBy: number; readonly count: number }

function testProperties(open: CreateFixture): void {
  it('answers like a model with one list of events per stream, in any interleaving of appends', async () => {
    const step = fc.record({ stream: fc.nat(3), offBy: fc.integer({ min: -1, max: 1 }), count: fc.integer({ min: 1, max: 3 }) })
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { maxLength: 6 }), { maxLength: 6 }), (rounds) => assertAgrees(open, rounds)),
      { numRuns: 25 },
    )
  })
}

/** Sends the steps of each round concurrently. The store must answer as if they had arrived in the given order. */
async function assertAgrees(open: CreateFixture, rounds: readonly (readonly AppendStep[])[]): Promise<void> {
  const fixture = await open()
  try {
    const store = await fixture.open()
    const model = new Map<string, string[]>()
    for (const round of rounds) {
      const answers: Promise<AppendOutcome>[] = []
      const expectations: object[] = []
      for (const { stream, offBy, count } of round) {
        const name = `order-${stream}`
        const known = model.get(name) ?? []
        const wanted = known.length - 1 + offBy
        const expected = wanted < 0 ? 'none' : wanted
        const batch = events(count)
        const fits = wanted === known.length - 1 || (wanted < 0 && known.length === 0)
        if (fits) model.set(name, [...known, ...idsOf(batch)])
        expectations.push(
          fits
            ? { outcome: 'appended', revision: known.length + count - 1 }
            : { outcome: 'conflict', revision: known.length ? known.length - 1 : 'none' },
        )
        answers.push(store.append(name, expected, batch))
      }
      expect(await Promise.all(answers)).toMatchObject(expectations)
    }
    for (const [name, ids] of model) expect(idsOf(await store.read(name))).toEqual(ids)
    const all = await store.readAll('start', 1000)
    expect(all).toHaveLength([...model.values()].flat().length)
    expect(all.every(({ position }, n) => n === 0 || position > (all[n - 1]?.position ?? position))).toBe(true)
  } finally {
    await fixture.teardown()
  }
}
