import { contractOf } from '@penstock/contracts/all.ts'
import type { OpenBeside } from '@penstock/ports/beside.ts'
import type { Progress } from '@penstock/ports/progress.ts'
import type { Views } from '@penstock/ports/views.ts'
import { CHAIN_START, eventOf, seal } from '@penstock/runtime/event-codec.ts'
import { projector } from '@penstock/runtime/project.ts'
import { rebuild } from '@penstock/runtime/rebuild.ts'
import type { Projection } from '@penstock/runtime/service.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { memoryEventStore } from '@penstock/adapters/memory/event-store.ts'

export type RebuildWorld = {
  readonly views: Views
  readonly progress: Progress
  readonly beside: OpenBeside
  teardown(): Promise<void>
}

const ORDER = '00000000-0000-4000-8000-000000000001'
const STREAMS = 5
const payhash = contractOf('payhash')
type CountTable = { counts: { stream: string; facts: number } }

/** Counts the facts of each stream: a fact that is applied twice, or not at all, shows. */
const counting: Projection = {
  name: 'counts',
  version: 1,
  from: [payhash],
  tables: ['counts'],
  migrate: (views) =>
    views.migrate('counts', [
      (db) =>
        db.schema
          .createTable('counts')
          .addColumn('stream', 'text', (column) => column.primaryKey())
          .addColumn('facts', 'integer', (column) => column.notNull())
          .execute(),
    ]),
  apply: async (trx, { aggregateId: stream }) => {
    const rows = trx.$extendTables<CountTable>().insertInto('counts').values({ stream, facts: 1 })
    await rows
      .onConflict((conflict) => conflict.column('stream').doUpdateSet((set) => ({ facts: set('counts.facts', '+', 1) })))
      .execute()
  },
}

/** What every way to make read models anew does. */
export function rebuildContract(name: string, open: () => Promise<RebuildWorld>): void {
  describe(`read models made anew: ${name}`, () => {
    let world: RebuildWorld
    const store = memoryEventStore()
    let chains: Map<string, { revision: number; chain: string }>
    beforeEach(async () => {
      world = await open()
      chains = new Map()
      await counting.migrate(world.views)
    })
    afterEach(() => world.teardown())

    /** The next fact of a stream. */
    async function write(n: number, round: string) {
      const stream = `payhash-${round}${n % STREAMS}`
      const { revision, chain } = chains.get(stream) ?? { revision: 0, chain: CHAIN_START }
      const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: ORDER } }
      const meta = { command: `c${round}${n}`, at: n, correlation: ORDER, trace: 't' }
      const sealed = seal({ stream, revision, chain }, [{ id: `${round}${n}`, fact, meta }])
      chains.set(stream, { revision: revision + 1, chain: sealed.chain })
      await store.append(stream, revision === 0 ? 'none' : revision - 1, sealed.events)
      const [stored] = await store.read(stream, revision, 1)
      if (!stored) throw new Error('it was stored')
      return eventOf(payhash, stored)
    }
    const liveProjector = () =>
      projector({ service: 'gateway', views: world.views, progress: world.progress }, counting, 'settlement', [payhash])
    const counts = async (round: string): Promise<Record<string, number>> => {
      const rows = await world.views.db.$extendTables<CountTable>().selectFrom('counts').selectAll().execute()
      return Object.fromEntries(rows.filter(({ stream }) => stream.startsWith(round)).map(({ stream, facts }) => [stream, facts]))
    }
    const each = (round: string, facts: number) =>
      Object.fromEntries(Array.from({ length: STREAMS }, (_, n) => [`${round}${n}`, facts]))

    it('mends rows that are wrong or missing, and goes on from there', async () => {
      const live = liveProjector()
      for (let n = 0; n < 20; n++) await live.apply(await write(n, 'a'))
      const table = world.views.db.$extendTables<CountTable>()
      await table.updateTable('counts').set({ facts: 77 }).where('stream', '=', 'a1').execute()
      await table.deleteFrom('counts').where('stream', '=', 'a2').execute()
      const [rebuilt] = await rebuild('gateway', [counting], store, await world.beside())
      expect(rebuilt?.facts).toBeGreaterThanOrEqual(20)
      expect(await counts('a')).toEqual(each('a', 4))
      for (let n = 20; n < 25; n++) await live.apply(await write(n, 'a'))
      expect(await counts('a')).toEqual(each('a', 5))
    })
    it('counts every fact once while others go on to project', { timeout: 60_000 }, async () => {
      const live = liveProjector()
      for (let n = 0; n < 50; n++) await live.apply(await write(n, 'b'))
      const over = new AbortController()
      let written = 50
      const going = (async () => {
        while (!over.signal.aborted) {
          await live.apply(await write(written++, 'b'))
          // Nothing in memory waits for anything, and others have to have their turn.
          await new Promise((resolve) => setImmediate(resolve))
        }
      })()
      for (let time = 0; time < 3; time++) await rebuild('gateway', [counting], store, await world.beside())
      over.abort()
      await going
      while (written % STREAMS !== 0) await live.apply(await write(written++, 'b'))
      expect(await counts('b')).toEqual(each('b', written / STREAMS))
      const again = liveProjector()
      for (const stored of await store.readAll('start', 100_000)) await again.apply(eventOf(payhash, stored))
      expect(await counts('b')).toEqual(each('b', written / STREAMS))
    })
    it('refuses to do it twice at once, and leaves nothing behind after a fault', async () => {
      const first = await world.beside()
      await expect(world.beside()).rejects.toThrow(/being rebuilt/)
      await first.drop()
      const broken: Projection = { ...counting, apply: () => Promise.reject(new Error('the code is wrong')) }
      await write(0, 'c')
      await expect(rebuild('gateway', [broken], store, await world.beside())).rejects.toThrow('the code is wrong')
      await rebuild('gateway', [counting], store, await world.beside())
      expect(await counts('c')).toEqual({ c0: 1 })
    })
  })
}
