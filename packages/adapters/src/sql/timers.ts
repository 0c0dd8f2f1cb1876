import { splitForStatements } from '@penstock/kernel/statement-sizes.ts'
import type { DueTimer, Timers } from '@penstock/ports/timers.ts'
import type { Views } from '@penstock/ports/views.ts'
import { createBatchQueue } from '../shared/batch-queue.ts'
import { type Kysely, type OnConflictBuilder, type Selectable, sql } from 'kysely'

type TimerTable = {
  timers: {
    service: string
    stream: string
    step: string
    at: number | null
    height: number | null
    type: string
    data: string
    revision: number
  }
}
type TimerRow = Omit<Selectable<TimerTable['timers']>, 'revision'>

/** Stores deadlines in a table of the views' database. The streams remain the source of truth. */
export async function sqlTimers(views: Views): Promise<Timers> {
  await views.migrate('timers', [createTables, addRevision])
  const db = views.db.$extendTables<TimerTable>()

  return {
    replace: createReplacer(db),
    async due(service, now, height, max) {
      return (await selectDue(db, service, now, height, max)).map(timerOf)
    },
    async markFired(timer) {
      const { service, stream, step, at, height, type, data } = rowOf(timer)
      await db
        .deleteFrom('timers')
        .where('service', '=', service)
        .where('stream', '=', stream)
        .where('step', '=', step)
        .where('at', at === null ? 'is' : '=', at)
        .where('height', height === null ? 'is' : '=', height)
        .where('type', '=', type)
        .where('data', '=', data)
        .execute()
    },
    async list(max) {
      const instants = await db
        .selectFrom('timers')
        .selectAll()
        .where('at', 'is not', null)
        .orderBy('at')
        .orderBy('stream')
        .limit(max)
        .execute()
      const heights = await db
        .selectFrom('timers')
        .selectAll()
        .where('height', 'is not', null)
        .orderBy('height')
        .orderBy('stream')
        .limit(max)
        .execute()
      return [...heights, ...instants].slice(0, max).map(timerOf)
    },
  }
}

type Replacement = {
  readonly service: string
  readonly stream: string
  readonly revision: number
  readonly rows: readonly Selectable<TimerTable['timers']>[]
  /** Whether timers of other steps may be stored. */
  readonly hasOthers: boolean
  readonly resolve: () => void
  readonly reject: (reason: unknown) => void
}

/**
 * Replaces the timers of streams. Concurrent calls and those that arrive during a write share statements, because each block
 * changes the deadlines of many streams.
 */
function createReplacer(db: Kysely<TimerTable>): Timers['replace'] {
  const queue = createBatchQueue<Replacement>({
    gather: () => Promise.resolve(),
    select: (waiting) => ({ batch: waiting, rest: [] }),
    async run(batch) {
      try {
        await writeReplacements(db, batch)
        for (const { resolve } of batch) resolve()
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    },
  })
  return (service, stream, timers, revision, previousSteps) =>
    new Promise((resolve, reject) => {
      const rows = timers.map((timer) => ({ ...rowOf({ ...timer, service, stream }), revision }))
      const hasOthers = previousSteps?.some((step) => !timers.some((timer) => timer.step === step)) ?? true
      queue.add({ service, stream, revision, rows, hasOthers, resolve, reject })
    })
}

/**
 * Writes the new timers before it deletes the others. A crash in between leaves older timers, whose commands the streams ignore,
 * so that no transaction is necessary.
 */
async function writeReplacements(db: Kysely<TimerTable>, batch: readonly Replacement[]): Promise<void> {
  const newest = new Map<string, Replacement>()
  for (const one of batch) {
    const key = `${one.service}\n${one.stream}`
    const other = newest.get(key)
    const hasOthers = one.hasOthers || other !== undefined
    if (!other || other.revision <= one.revision) newest.set(key, { ...one, hasOthers })
  }
  const sorted = [...newest].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one)
  for (const group of splitForStatements(sorted.flatMap(({ rows }) => rows)))
    await db.insertInto('timers').values(group).onConflict(replaceEarlier).execute()
  for (const group of splitForStatements(sorted.filter(({ hasOthers }) => hasOthers)))
    await db
      .deleteFrom('timers')
      .where((row) =>
        row.or(
          group.map(({ service, stream, revision, rows }) =>
            row.and([
              row('service', '=', service),
              row('stream', '=', stream),
              row('revision', '<=', revision),
              ...(rows.length > 0
                ? [
                    row(
                      'step',
                      'not in',
                      rows.map(({ step }) => step),
                    ),
                  ]
                : []),
            ]),
          ),
        ),
      )
      .execute()
}

const replaceEarlier = (conflict: OnConflictBuilder<TimerTable, 'timers'>) =>
  conflict
    .columns(['service', 'stream', 'step'])
    .doUpdateSet((row) => ({
      at: row.ref('excluded.at'),
      height: row.ref('excluded.height'),
      type: row.ref('excluded.type'),
      data: row.ref('excluded.data'),
      revision: row.ref('excluded.revision'),
    }))
    .whereRef('timers.revision', '<=', 'excluded.revision')

/** One query reads deadlines at instants and at heights, because every service runs it often. */
function selectDue(
  db: Kysely<TimerTable>,
  service: string,
  now: number,
  height: number | undefined,
  max: number,
): Promise<readonly TimerRow[]> {
  const ofService = db.selectFrom('timers').selectAll().where('service', '=', service).limit(max)
  const instants = ofService.where('at', '<=', now).orderBy('at').orderBy('stream')
  // Without a height no deadline at a height is due.
  const heights = ofService
    .where('height', '<=', height ?? -1)
    .orderBy('height')
    .orderBy('stream')
  const both = db
    .selectFrom(instants.as('instants'))
    .selectAll()
    .unionAll(db.selectFrom(heights.as('heights')).selectAll())
  return (
    db
      .selectFrom(both.as('due'))
      .selectAll()
      // Heights come first, because a deadline at a height concerns a held payment.
      .orderBy(sql`height is null`)
      .orderBy(sql`coalesce(height, at)`)
      .orderBy('stream')
      .limit(max)
      .execute()
  )
}

const rowOf = ({ service, stream, step, due, command }: DueTimer): TimerRow => ({
  service,
  stream,
  step,
  at: 'at' in due ? due.at : null,
  height: 'height' in due ? due.height : null,
  type: command.type,
  data: JSON.stringify(command.data),
})

const timerOf = ({ service, stream, step, at, height, type, data }: TimerRow): DueTimer => ({
  service,
  stream,
  step,
  due: at === null ? { height: Number(height) } : { at },
  command: { type, data: JSON.parse(data) as object }, // `rowOf` wrote it
})

async function createTables(db: Views['db']): Promise<void> {
  await db.schema
    .createTable('timers')
    .addColumn('service', 'text', (column) => column.notNull())
    .addColumn('stream', 'text', (column) => column.notNull())
    .addColumn('step', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint')
    .addColumn('height', 'integer')
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('data', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('timers_key', ['service', 'stream', 'step'])
    .execute()
  await db.schema.createIndex('timers_by_instant').on('timers').columns(['service', 'at']).execute()
  await db.schema.createIndex('timers_by_height').on('timers').columns(['service', 'height']).execute()
}

const addRevision = (db: Views['db']): Promise<void> =>
  db.schema
    .alterTable('timers')
    .addColumn('revision', 'integer', (column) => column.notNull().defaultTo(0))
    .execute()
