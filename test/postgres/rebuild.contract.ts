import { contractOf } from '@penstock/contracts/contracts.ts'
import type { OpenShadowTables } from '@penstock/ports/shadow-tables.ts'
import type { ConsumerProgress } from '@penstock/ports/progress.ts'
import type { Views } from '@penstock/ports/views.ts'
import { CHAIN_START, readEvent, sealFacts } from '@penstock/runtime/commands/event-codec.ts'
import { createProjector } from '@penstock/runtime/views/project.ts'
import { rebuildProjections } from '@penstock/runtime/views/rebuild.ts'
import type { Projection } from '@penstock/runtime/service.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { memoryEventStore } from '@penstock/adapters/memory/event-store.ts'

export type RebuildFixture = {
  readonly views: Views
  readonly progress: ConsumerProgress
  readonly beside: OpenShadowTables
  teardown(): Promise<void>
}

const ORDER = '00000000-0000-4000-8000-000000000001'
const STREAMS = 5
const payhash = contractOf('payhash')
type CountTable = { gateway_counts: { stream: string; facts: number } }

/** Counts the facts of each stream, which shows a fact that was applied twice or not at all. */
const countingProjection: Projection = {
  name: 'counts',
  version: 1,
  from: [payhash],
  tables: ['gateway_counts'],
  migrate: (views) =>
    views.migrate('counts', [
      (db) =>
        db.schema
          .createTable('gateway_counts')
          .addColumn('stream', 'text', (column) => column.primaryKey())
          .addColumn('facts', 'integer', (column) => column.notNull())
          .execute(),
    ]),
  apply: async (trx, events) => {
    for (const { aggregateId: stream } of events) {
      const rows = trx.$extendTables<CountTable>().insertInto('gateway_counts').values({ stream, facts: 1 })
      await rows
        .onConflict((conflict) =>
          conflict.column('stream').doUpdateSet((set) => ({ facts: set('gateway_counts.facts', '+', 1) })),
        )
        .execute()
    }
  },
}

/** The contract suite that every implementation of a rebuild has to pass. */
export function describeRebuild(name: string, open: () => Promise<RebuildFixture>): void {
  describe(`a rebuild of read models: ${name}`, () => {
    let fixture: RebuildFixture
    const store = memoryEventStore()
    let chains: Map<string, { revision: number; chain: string }>
    beforeEach(async () => {
      fixture = await open()
      chains = new Map()
      await countingProjection.migrate(fixture.views)
    })
    afterEach(() => fixture.teardown())

    /** Appends the next fact of a stream. */
    async function write(n: number, round: string) {
      const stream = `payhash-${round}${n % STREAMS}`
      const { revision, chain } = chains.get(stream) ?? { revision: 0, chain: CHAIN_START }
      const fact = { type: 'PayhashClaimed', v: 1, data: { orderId: ORDER } }
      const meta = { command: `c${round}${n}`, at: n, correlation: ORDER, trace: 't' }
      const sealed = sealFacts({ stream, revision, chain }, [{ id: `${round}${n}`, fact, meta }])
      chains.set(stream, { revision: revision + 1, chain: sealed.chain })
      await store.append(stream, revision === 0 ? 'none' : revision - 1, sealed.events)
      const [stored] = await store.read(stream, revision, 1)
      if (!stored) throw new Error('the fact was not stored')
      return readEvent(payhash, stored)
    }
    const liveProjector = () =>
      createProjector(
        { service: 'gateway', views: fixture.views, progress: fixture.progress },
        countingProjection,
        'settlement',
        [payhash],
      )
    const readCounts = async (round: string): Promise<Record<string, number>> => {
      const rows = await fixture.views.db.$extendTables<CountTable>().selectFrom('gateway_counts').selectAll().execute()
      return Object.fromEntries(rows.filter(({ stream }) => stream.startsWith(round)).map(({ stream, facts }) => [stream, facts]))
    }
    const expectedCounts = (round: string, facts: number) =>
      Object.fromEntries(Array.from({ length: STREAMS }, (_, n) => [`${round}${n}`, facts]))

    it('repairs wrong or missing rows, and the live projector continues with the rebuilt tables', async () => {
      const live = liveProjector()
      for (let n = 0; n < 20; n++) await live.apply(await write(n, 'a'))
      const table = fixture.views.db.$extendTables<CountTable>()
      await table.updateTable('gateway_counts').set({ facts: 77 }).where('stream', '=', 'a1').execute()
      await table.deleteFrom('gateway_counts').where('stream', '=', 'a2').execute()
      const [rebuilt] = await rebuildProjections('gateway', [countingProjection], store, await fixture.beside())
      expect(rebuilt?.facts).toBeGreaterThanOrEqual(20)
      expect(await readCounts('a')).toEqual(expectedCounts('a', 4))
      for (let n = 20; n < 25; n++) await live.apply(await write(n, 'a'))
      expect(await readCounts('a')).toEqual(expectedCounts('a', 5))
    })
    it('counts every fact once while the live projector runs', async () => {
      const live = liveProjector()
      for (let n = 0; n < 50; n++) await live.apply(await write(n, 'b'))
      const stop = new AbortController()
      let written = 50
      const projecting = (async () => {
        while (!stop.signal.aborted) {
          await live.apply(await write(written++, 'b'))
          // Operations in memory never wait, so without this line the loop would block the rebuild.
          await new Promise((resolve) => setImmediate(resolve))
        }
      })()
      for (let time = 0; time < 3; time++)
        await rebuildProjections('gateway', [countingProjection], store, await fixture.beside())
      stop.abort()
      await projecting
      while (written % STREAMS !== 0) await live.apply(await write(written++, 'b'))
      expect(await readCounts('b')).toEqual(expectedCounts('b', written / STREAMS))
      const secondProjector = liveProjector()
      for (const stored of await store.readAll('start', 100_000)) await secondProjector.apply(readEvent(payhash, stored))
      expect(await readCounts('b')).toEqual(expectedCounts('b', written / STREAMS))
    })
    it('is refused while another rebuild runs, and leaves no tables behind after a fault', async () => {
      const first = await fixture.beside()
      await expect(fixture.beside()).rejects.toThrow(/wait until it has finished/)
      await first.drop()
      const broken: Projection = { ...countingProjection, apply: () => Promise.reject(new Error('the code is wrong')) }
      await write(0, 'c')
      await expect(rebuildProjections('gateway', [broken], store, await fixture.beside())).rejects.toThrow('the code is wrong')
      await rebuildProjections('gateway', [countingProjection], store, await fixture.beside())
      expect(await readCounts('c')).toEqual({ c0: 1 })
    })
  })
}
