import { Bug } from '@penstock/kernel/result.ts'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Appended, EventStore, ExpectedRevision, NewEvent, StoredEvent } from './event-store.ts'

/** A store's data and what can be done to it from outside. */
export type EventStoreWorld = {
  /** A store on this world's data, as a process that starts would open it. The world closes it. */
  open(): Promise<EventStore>
  /** Closes what `open` gave last and opens the data again. */
  reopen(): Promise<EventStore>
  /** Another process appends and is killed (SIGKILL) before or after the events are durable, in any case before it knows. */
  crash?(
    moment: 'before-commit' | 'after-commit',
    stream: string,
    expected: ExpectedRevision,
    events: readonly NewEvent[],
  ): Promise<void>
  /** Another process appends and ends in peace. */
  elsewhere?(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<void>
  teardown(): Promise<void>
}

export type EventStoreFeatures = { readonly processes: boolean }

type Make = () => Promise<EventStoreWorld>

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

/** What every event store does, whatever it is made of. */
export function eventStoreContract(name: string, open: Make, features: EventStoreFeatures = { processes: false }): void {
  describe(`event store: ${name}`, () => {
    let world: EventStoreWorld
    let store: EventStore
    beforeEach(async () => {
      world = await open()
      store = await world.open()
    })
    afterEach(() => world.teardown())
    const here = { world: () => world, store: () => store }
    const suites = {
      append: appending,
      'repeated append': repeating,
      read: reading,
      follow: following,
      'any history': () => properties(open),
      ...(features.processes && { 'other processes': otherProcesses }),
    }
    for (const [title, suite] of Object.entries(suites))
      describe(`${title}:`, () => {
        suite(here)
      })
  })
}

type Here = { readonly world: () => EventStoreWorld; readonly store: () => EventStore }

function appending({ store }: Here): void {
  it('counts revisions from 0 and positions upwards', async () => {
    const first = await store().append('order-1', 'none', events(2))
    const second = await store().append('order-1', 1, events(1))
    expect(first).toMatchObject({ outcome: 'appended', revision: 1 })
    expect(second).toMatchObject({ outcome: 'appended', revision: 2 })
    const stored = await store().read('order-1')
    expect(stored.map(({ revision }) => revision)).toEqual([0, 1, 2])
    expect(second).toMatchObject({ position: stored.at(-1)?.position })
  })
  it('refuses a new stream where there is one, with its real revision', async () => {
    await store().append('order-1', 'none', events(3))
    expect(await store().append('order-1', 'none', events(1))).toEqual({ outcome: 'conflict', revision: 2 })
    expect(await store().read('order-1')).toHaveLength(3)
  })
  it('refuses a revision that is passed or not reached, with the real one', async () => {
    await store().append('order-1', 'none', events(2))
    expect(await store().append('order-1', 0, events(1))).toEqual({ outcome: 'conflict', revision: 1 })
    expect(await store().append('order-1', 7, events(1))).toEqual({ outcome: 'conflict', revision: 1 })
    expect(await store().append('order-2', 0, events(1))).toEqual({ outcome: 'conflict', revision: 'none' })
  })
  it('lets one of many racing writers win', async () => {
    await store().append('order-1', 'none', events(1))
    const answers = await Promise.all(Array.from({ length: 16 }, () => store().append('order-1', 0, events(2))))
    expect(answers.filter(({ outcome }) => outcome === 'appended')).toHaveLength(1)
    expect(answers.filter((answer) => answer.outcome === 'conflict' && answer.revision === 2)).toHaveLength(15)
    expect(await store().read('order-1')).toHaveLength(3)
  })
  it('takes a batch whole or not at all', async () => {
    const batch = events(5)
    await store().append('order-1', 'none', batch)
    await store().append('order-1', 3, events(2))
    expect(idsOf(await store().read('order-1'))).toEqual(idsOf(batch))
  })
  it('calls an empty batch, an id twice and a nameless stream bugs', async () => {
    const [one] = events(1)
    if (!one) throw new Error('an event was made')
    await expect(store().append('order-1', 'none', [])).rejects.toThrow(Bug)
    await expect(store().append('order-1', 'none', [one, one])).rejects.toThrow(Bug)
    await expect(store().append('order', 'none', [one])).rejects.toThrow(Bug)
    expect(await store().read('order-1')).toEqual([])
  })
  it('keeps data and meta byte for byte', async () => {
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

function repeating({ store, world }: Here): void {
  it('answers with the first success, at the beginning and later', async () => {
    const [first, second] = [events(2), events(3)]
    const answers = [await store().append('order-1', 'none', first), await store().append('order-1', 1, second)]
    await store().append('order-1', 4, events(1))
    expect([await store().append('order-1', 'none', first), await store().append('order-1', 1, second)]).toEqual(answers)
    expect(await store().read('order-1')).toHaveLength(6)
  })
  it('does so after a restart', async () => {
    const batch = events(2)
    const answer = await store().append('order-1', 'none', batch)
    expect(await (await world().reopen()).append('order-1', 'none', batch)).toEqual(answer)
  })
  it('does so for two at the same time', async () => {
    const batch = events(2)
    const answers = await Promise.all([store().append('order-1', 'none', batch), store().append('order-1', 'none', batch)])
    expect(answers[1]).toEqual(answers[0])
    expect(answers[0]?.outcome).toBe('appended')
    expect(await store().read('order-1')).toHaveLength(2)
  })
  it('calls a batch that is stored in part, in another order or elsewhere in the stream a bug', async () => {
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
  it('goes on with others of the same moment after a bug', async () => {
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

function reading({ store }: Here): void {
  it('reads a part of a stream, and nothing of one that does not exist', async () => {
    const batch = events(5)
    await store().append('order-1', 'none', batch)
    expect(idsOf(await store().read('order-1', 1, 3))).toEqual(idsOf(batch.slice(1, 4)))
    expect(await store().read('order-1', 5)).toEqual([])
    expect(await store().read('order-2')).toEqual([])
  })
  it('pages through the whole log and through categories', async () => {
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
  it('takes a category for what stands before the first dash', async () => {
    await store().append('hold-a-b', 'none', events(1))
    await store().append('holder-a', 'none', events(1))
    expect((await store().readAll('start', 9, ['hold'])).map(({ stream }) => stream)).toEqual(['hold-a-b'])
  })
}

/** Follows until so many events were seen. */
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

function following({ store, world }: Here): void {
  it('sees what is there and what comes, in the order of the log', async () => {
    await store().append('order-1', 'none', events(2))
    const seen = collect(store(), 302)
    await Promise.all(Array.from({ length: 100 }, (_, n) => store().append(`order-${n + 2}`, 'none', events(3))))
    expect(await seen).toEqual(await store().readAll('start', 1000))
  })
  it('starts after its position', async () => {
    await store().append('order-1', 'none', events(3))
    const all = await store().read('order-1')
    expect(await collect(store(), 2, all[0]?.position)).toEqual(all.slice(1))
    const later = collect(store(), 1, all[2]?.position)
    await store().append('order-1', 2, events(1))
    expect((await later).map(({ revision }) => revision)).toEqual([3])
  })
  it('sees its categories alone, also after others were busy', async () => {
    const seen = collect(store(), 2, 'start', ['hold', 'payout'])
    for (let n = 0; n < 40; n++) await store().append(`order-${n}`, 'none', events(40))
    await store().append('hold-1', 'none', events(1))
    for (let n = 0; n < 40; n++) await store().append(`order-${n}`, 39, events(1))
    await store().append('payout-1', 'none', events(1))
    expect((await seen).map(({ stream }) => stream)).toEqual(['hold-1', 'payout-1'])
  })
  it('goes on from its position after a restart, in the same order', async () => {
    for (let n = 0; n < 10; n++) await store().append(`order-${n}`, 'none', events(2))
    const before = await collect(store(), 20)
    const again = await world().reopen()
    await again.append('order-10', 'none', events(1))
    expect((await collect(again, 21)).slice(0, 20)).toEqual(before)
    expect(await collect(again, 11, before[9]?.position)).toHaveLength(11)
  })
  it('ends with its signal and when the store is closed', async () => {
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
    await world().reopen()
    expect(await ends).toMatchObject([{ done: true }, { done: true }])
  })
}

function otherProcesses({ store, world }: Here): void {
  for (const moment of ['before-commit', 'after-commit'] as const)
    it(`leaves one copy when a writer is killed ${moment} and tries again`, async () => {
      await store().append('order-1', 'none', events(1))
      const batch = events(3)
      await world().crash?.(moment, 'order-1', 0, batch)
      expect(await store().read('order-1')).toHaveLength(moment === 'before-commit' ? 1 : 4)
      const again = await world().reopen()
      expect(await again.append('order-1', 0, batch)).toMatchObject({ outcome: 'appended', revision: 3 })
      expect(idsOf(await again.read('order-1', 1))).toEqual(idsOf(batch))
    })
  it('notices what another process appends, in what it follows and in its own answers', async () => {
    await store().append('order-1', 'none', events(1))
    const seen = collect(store(), 2)
    await world().elsewhere?.('order-1', 0, events(1))
    expect((await seen).map(({ revision }) => revision)).toEqual([0, 1])
    await world().elsewhere?.('order-1', 1, events(1))
    expect(await store().append('order-1', 1, events(1))).toEqual({ outcome: 'conflict', revision: 2 })
    expect(await store().append('order-1', 2, events(1))).toMatchObject({ outcome: 'appended', revision: 3 })
  })
}

/** A step of some writer: which stream, how far off its idea of the revision is, and how much it appends. */
type Step = { readonly stream: number; readonly offBy: number; readonly count: number }

function properties(open: Make): void {
  it('agrees with a list of lists, in any interleaving', async () => {
    const step = fc.record({ stream: fc.nat(3), offBy: fc.integer({ min: -1, max: 1 }), count: fc.integer({ min: 1, max: 3 }) })
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(step, { maxLength: 6 }), { maxLength: 6 }), (rounds) => agrees(open, rounds)),
      { numRuns: 25 },
    )
  })
}

/** Every round's steps are in flight together; the store must answer as if they had come one by one in the given order. */
async function agrees(open: Make, rounds: readonly (readonly Step[])[]): Promise<void> {
  const world = await open()
  try {
    const store = await world.open()
    const model = new Map<string, string[]>()
    for (const round of rounds) {
      const answers: Promise<Appended>[] = []
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
    await world.teardown()
  }
}
