import { createMutants } from '../mutant.ts'

const gateway = 'services/gateway/src'
const runtime = 'packages/runtime/src'

export const projectionMutants = createMutants('projection', [
  {
    id: 'fact-projected-twice',
    description: 'A fact that is delivered twice is applied twice: a seller sees more capacity reserved and sold than there is.',
    file: `${runtime}/views/project.ts`,
    text: 'if (!(await context.progress.advance(name, { stream: streamOf(event), revision, position }, trx))) return undefined',
    replacement: 'await context.progress.advance(name, { stream: streamOf(event), revision, position }, trx)',
  },
  {
    id: 'progress-without-its-rows',
    description: 'Progress is stored although the rows of a fact failed: the read model never gets these rows.',
    file: `${runtime}/views/project.ts`,
    text: `            await projection.apply(trx, event)\n`,
    replacement: `        await projection.apply(trx, event).catch(() => undefined)\n`,
  },
  {
    id: 'one-bad-fact-spoils-its-batch',
    description: 'A fact that cannot be projected fails its whole batch: the orders of other people are parked.',
    file: `${runtime}/views/project.ts`,
    text: 'else await commitOneByOne(entries)',
    replacement: 'else for (const entry of entries) entry.failed(error)',
  },
  {
    id: 'gap-unseen-after-a-restart',
    description: 'After a restart the last projected revision is unknown: a gap in a stream is not noticed.',
    file: `${runtime}/views/project.ts`,
    text: 'applied.get(stream) ?? (await context.progress.revision(name, stream)) ?? -1',
    replacement: 'applied.get(stream) ?? -1',
  },
  {
    id: 'woken-before-the-commit',
    description: 'A waiting request is woken although its rows were rolled back: it reads an order that does not exist.',
    file: `${runtime}/views/project.ts`,
    text: `            await projection.apply(trx, event)\n            return event`,
    replacement: `            projection.onCommitted?.([event])\n            await projection.apply(trx, event)\n            return event`,
  },
  {
    id: 'revision-goes-back',
    description: 'An older revision replaces a newer one: facts are projected again.',
    file: 'packages/adapters/src/sql/progress.ts',
    text: `.whereRef('progress_streams.revision', '<', 'excluded.revision')`,
    replacement: `.whereRef('progress_streams.revision', '<>', 'excluded.revision')`,
    killers: ['packages/adapters/src/sql/sql.test.ts'],
  },
  {
    id: 'position-goes-back',
    description: 'A delayed save moves the position back: each restart reads more facts than it needs.',
    file: 'packages/adapters/src/sql/progress.ts',
    text: `doUpdateSet({ position: reached }).where('progress.position', '<', reached)`,
    replacement: 'doUpdateSet({ position: reached })',
    killers: ['packages/adapters/src/sql/sql.test.ts'],
  },
  {
    id: 'late-confirmation-brings-back',
    description: 'A repeated confirmation moves an opened order back: the buyer sees its finished order as waiting.',
    file: 'packages/contracts/src/order/lifecycle.ts',
    text: '(before && rulesOf(before)?.on[type]) ?? changes.get(type) ?? before',
    replacement: 'changes.get(type) ?? before',
    killers: [`${gateway}/market/views/order-view.test.ts`],
  },
  {
    id: 'cancelling-shown-as-cancelled',
    description:
      'A hold shows as cancelled as soon as the cancellation is requested: the buyer looks for money that has not returned yet.',
    file: `${gateway}/market/views/hold-view.ts`,
    text: `return { ...view, status: 'cancelling', reason: fact.data.sentence }`,
    replacement: `return { ...view, status: 'cancelled', reason: fact.data.sentence }`,
    killers: [`${gateway}/market/views/other-views.test.ts`],
  },
  {
    id: 'time-out-shown-as-paid',
    description:
      'An order that ended by height still shows its payment as successful: the buyer does not learn that the money returned.',
    file: `${gateway}/market/views/payment-status.ts`,
    text: `  if (isEndedByHeight(fact)) return 'HODL_INVOICE_TIMEOUT'\n`,
    replacement: `  if (isEndedByHeight(fact)) return before\n`,
    killers: [`${gateway}/market/views/order-view.test.ts`],
  },
  {
    id: 'reorg-keeps-confirmations',
    description: 'A re-organisation leaves the confirmations unchanged: the buyer relies on a channel that is in no block.',
    file: `${gateway}/market/views/order-view.ts`,
    text: `{ status: 'named' }),\n        channelId: null,\n        fundingHeight: null,\n        confirmations: 0,\n      }`,
    replacement: `{ status: 'named' }), channelId: null, fundingHeight: null }`,
  },
  {
    id: 'sold-and-still-reserved',
    description: 'Sold capacity also stays reserved: the order book shows less than the seller has, and the seller sells less.',
    file: `${gateway}/market/views/offer-view.ts`,
    text: '[addSat(view.reservedSat, -sizeSat), addSat(view.usedSat, sizeSat)]',
    replacement: '[view.reservedSat, addSat(view.usedSat, sizeSat)]',
    killers: [`${gateway}/market/views/other-views.test.ts`],
  },
  {
    id: 'answered-after-the-first-fact',
    description: 'A caller gets its answer after the first of several facts: it reads a state that never existed.',
    file: `${gateway}/commands/command-outcomes.ts`,
    text: 'if (event.hasMore || !isAwaited(commandId)) return',
    replacement: 'if (!isAwaited(commandId)) return',
  },
  {
    id: 'replaced-seller-sees-the-sale',
    description: 'A replaced seller sees the status of its successor: it opens a channel that is not paid.',
    file: `${gateway}/market/views/sales.ts`,
    text: `return lost ? 'SELLER_FAILED_TO_OPEN_CHANNEL' : view.status`,
    replacement: `return lost && sale.attempt === 0 ? 'SELLER_FAILED_TO_OPEN_CHANNEL' : view.status`,
    killers: [`${gateway}/market/views/order-view.test.ts`],
  },
])
