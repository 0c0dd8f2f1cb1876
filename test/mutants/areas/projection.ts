import { mutantsOf } from '../mutant.ts'

const views = 'services/gateway/src/views'
const runtime = 'packages/runtime/src'

export const projection = mutantsOf('projection', [
  {
    id: 'fact-projected-twice',
    wrong: 'A fact that comes twice is applied twice: a seller sees its capacity reserved and sold more often than it was.',
    file: `${runtime}/project.ts`,
    text: `if (!(await context.progress.advance(name, { stream: streamOf(event), revision, position }, trx))) return undefined`,
    instead: `await context.progress.advance(name, { stream: streamOf(event), revision, position }, trx)`,
    killers: [`${runtime}/project.test.ts`],
  },
  {
    id: 'progress-without-its-rows',
    wrong: 'Progress stays although the rows of a fact failed: the read model lacks it for ever.',
    file: `${runtime}/project.ts`,
    text: `        await projection.apply(trx, event)\n`,
    instead: `        await projection.apply(trx, event).catch(() => undefined)\n`,
    killers: [`${runtime}/project.test.ts`],
  },
  {
    id: 'one-bad-fact-spoils-its-batch',
    wrong: 'A fact that cannot be projected fails all that came with it: orders of other people are parked.',
    file: `${runtime}/project.ts`,
    text: `else await oneByOne(pieces)`,
    instead: `else for (const piece of pieces) piece.failed(error)`,
    killers: [`${runtime}/project.test.ts`],
  },
  {
    id: 'gap-unseen-after-a-restart',
    wrong: 'After a restart nobody knows the last revision that was projected: a gap is passed over.',
    file: `${runtime}/project.ts`,
    text: `applied.get(stream) ?? (await context.progress.revision(name, stream)) ?? -1`,
    instead: `applied.get(stream) ?? -1`,
    killers: [`${runtime}/project.test.ts`],
  },
  {
    id: 'woken-before-the-commit',
    wrong: 'Whoever waits for a fact is woken although its rows were taken back: it reads an order that is not there.',
    file: `${runtime}/project.ts`,
    text: `            await projection.apply(trx, event)
            return event`,
    instead: `            projection.committed?.([event])
            await projection.apply(trx, event)
            return event`,
    killers: [`${runtime}/project.test.ts`],
  },
  {
    id: 'revision-goes-back',
    wrong: 'An older revision takes the place of a newer one: what was projected is projected again.',
    file: 'packages/adapters/src/sql/progress.ts',
    text: `.whereRef('progress_streams.revision', '<', 'excluded.revision')`,
    instead: `.whereRef('progress_streams.revision', '<>', 'excluded.revision')`,
    killers: ['packages/adapters/src/sql/sql.test.ts'],
  },
  {
    id: 'position-goes-back',
    wrong: 'A late save takes the position back: each restart reads more than it has to.',
    file: 'packages/adapters/src/sql/progress.ts',
    text: `doUpdateSet({ position: reached }).where('progress.position', '<', reached)`,
    instead: `doUpdateSet({ position: reached })`,
    killers: ['packages/adapters/src/sql/sql.test.ts'],
  },
  {
    id: 'late-confirmation-brings-back',
    wrong: 'A confirmation that is told again brings an opened order back: the buyer sees its finished order wait.',
    file: `${views}/order-status.ts`,
    text: `return isLate ? before : after`,
    instead: `return isLate && before === 'CHANNEL_MONITORING_FINISHED' ? before : after`,
    killers: [`${views}/order-view.test.ts`],
  },
  {
    id: 'cancelling-shown-as-cancelled',
    wrong: 'A hold shows as given back when that was only asked for: the buyer looks for money that it has not.',
    file: `${views}/hold-view.ts`,
    text: `return { ...view, status: 'cancelling', reason: fact.data.sentence }`,
    instead: `return { ...view, status: 'cancelled', reason: fact.data.sentence }`,
    killers: [`${views}/other-views.test.ts`],
  },
  {
    id: 'time-out-shown-as-paid',
    wrong:
      'An order that ended by height still shows its payment as successful: nobody tells the buyer that the money came back.',
    file: `${views}/order-status.ts`,
    text: `  if (endedByHeight(fact)) return 'HODL_INVOICE_TIMEOUT'\n`,
    instead: `  if (endedByHeight(fact)) return before\n`,
    killers: [`${views}/order-view.test.ts`],
  },
  {
    id: 'reorg-keeps-confirmations',
    wrong: 'A re-organisation leaves the confirmations as they were: the buyer counts on a channel that is in no block.',
    file: `${views}/order-view.ts`,
    text: `{ status: 'named' }), channelId: null, fundingHeight: null, confirmations: 0 }`,
    instead: `{ status: 'named' }), channelId: null, fundingHeight: null }`,
    killers: [`${views}/order-view.test.ts`],
  },
  {
    id: 'sold-and-still-reserved',
    wrong: 'What was sold stays reserved beside it: the book shows less than the seller has, and it sells less.',
    file: `${views}/offer-view.ts`,
    text: `reservedSat: plus(view.reservedSat, -sizeSat), usedSat: plus(view.usedSat, sizeSat)`,
    instead: `usedSat: plus(view.usedSat, sizeSat)`,
    killers: [`${views}/other-views.test.ts`],
  },
  {
    id: 'answered-after-the-first-fact',
    wrong: 'A caller is answered after the first of several facts: it reads a state that never was whole.',
    file: `${views}/commands.ts`,
    text: `if (event.more || !isAwaited(commandId)) return`,
    instead: `if (!isAwaited(commandId)) return`,
    killers: [`${views}/commands.test.ts`],
  },
  {
    id: 'replaced-seller-sees-the-sale',
    wrong: 'A seller that was replaced sees the status of the one after it: it opens a channel that nobody pays for.',
    file: `${views}/sales.ts`,
    text: `return lost ? 'SELLER_FAILED_TO_OPEN_CHANNEL' : view.status`,
    instead: `return lost && sale.attempt === 0 ? 'SELLER_FAILED_TO_OPEN_CHANNEL' : view.status`,
    killers: [`${views}/order-view.test.ts`],
  },
])
