import type { AddressedCommand } from '@penstock/kernel/process.ts'
import { Fault } from '@penstock/kernel/result.ts'
import type { OrderStatus } from '@penstock/contracts/order/lifecycle.ts'
import assert from 'node:assert/strict'
import { test } from 'vitest'
import type { CommandAnswer } from '../../commands/answer-lookup.ts'
import { withdrawWhenPlaced } from './withdraw-order.ts'

const NOT_FOUND: CommandAnswer = { outcome: 'refused', code: 'NOT_FOUND', message: 'Order not found' }
const nextTurn = (): Promise<void> => new Promise(setImmediate)

type Found = {
  /** The answers to withdrawals in their order. Every later search finds the last answer. */
  readonly answers: readonly (CommandAnswer | undefined | Error)[]
  readonly quoteAnswer?: CommandAnswer
  /** The statuses of the order in their order. Every later search finds the last status. */
  readonly statuses?: readonly (OrderStatus | undefined)[]
  /** The first sends that fail with a fault. */
  readonly failedSends?: number
}

const nth = <T>(found: readonly T[], index: number): T | undefined => found[Math.min(index, found.length - 1)]

function createGatewayStub({ answers, quoteAnswer, statuses = [], failedSends = 0 }: Found) {
  let [now, answerCount, statusCount, idCount, releaseCount] = [0, 0, 0, 0, 0]
  const closing = new AbortController()
  const sentCommands: { readonly at: number; readonly ask: AddressedCommand; readonly commandId: string }[] = []
  const loggedWarnings: string[] = []
  const ports = {
    clock: {
      monotonicMs: () => now,
      async sleep(ms: number) {
        now += ms
        await nextTurn()
      },
    },
    ids: { uuid: () => `command-${++idCount}`, random: () => new Uint8Array() },
    closing: closing.signal,
    log: { warn: (_: object, text: string) => void loggedWarnings.push(text) },
    send: async (ask: AddressedCommand, { commandId }: { readonly commandId: string }) => {
      sentCommands.push({ at: now, ask, commandId })
      if (sentCommands.length <= failedSends) throw new Fault('the bus is away')
    },
    commands: {
      findAnswer: async (commandId: string) => {
        if (commandId === 'quote') return quoteAnswer
        const answer = nth(answers, answerCount++)
        if (answer instanceof Error) throw answer
        return answer
      },
    },
  }
  const findStatus = async () => nth(statuses, statusCount++)
  const releaseQuota = async () => void releaseCount++
  const late = { orderId: 'one', quoteCommandId: 'quote', reason: 'late', findStatus, releaseQuota }
  const withdraw = () => withdrawWhenPlaced(ports, late)
  const runAllTurns = async (): Promise<void> => {
    for (let turns = 0; turns < 40; turns++) await nextTurn()
  }
  const countReleases = () => releaseCount
  return { withdraw, settled: runAllTurns, sentCommands, loggedWarnings, closing, countReleases, now: () => now }
}

test('an order that is placed after its withdrawal arrived is withdrawn again', async () => {
  const {
    withdraw,
    settled: runAllTurns,
    sentCommands,
  } = createGatewayStub({
    answers: [undefined, NOT_FOUND, NOT_FOUND, { outcome: 'accepted', revision: 3 }],
    statuses: [undefined, 'WAITING_FOR_SELLER_APPROVAL'],
  })
  withdraw()
  assert.equal(sentCommands.length, 1)
  await runAllTurns()
  assert.deepEqual(
    sentCommands.map(({ commandId }) => commandId),
    ['command-1', 'command-2'],
  )
  for (const { ask } of sentCommands) assert.deepEqual([ask.category, ask.id, ask.command.type], ['order', 'one', 'Withdraw'])
})

test('the withdrawal is not repeated after an answer other than NOT_FOUND', async () => {
  for (const answer of [
    { outcome: 'accepted', revision: 3 },
    { outcome: 'refused', code: 'HELD', message: 'held' },
  ] as const) {
    const {
      withdraw,
      settled: runAllTurns,
      sentCommands,
    } = createGatewayStub({ answers: [answer], statuses: ['WAITING_FOR_BUYER_PAYMENT'] })
    withdraw()
    await runAllTurns()
    assert.equal(sentCommands.length, 1)
  }
})

test('the checks end with a withdrawal that finds no order when none can be placed any more, and give the place back', async () => {
  const never = createGatewayStub({ answers: [NOT_FOUND] })
  never.withdraw()
  await never.settled()
  assert.deepEqual(
    never.sentCommands.map(({ at }) => at),
    [0, 14_000],
  )
  assert.deepEqual([never.now(), never.countReleases()], [30_000, 1])
})

test('without an answer, an order is withdrawn once, and the checks end after 300 s', async () => {
  const unanswered = createGatewayStub({ answers: [undefined] })
  unanswered.withdraw()
  await unanswered.settled()
  assert.equal(unanswered.sentCommands.length, 1)
  assert.ok(unanswered.now() >= 300_000 && unanswered.now() < 600_000)
  assert.equal(unanswered.countReleases(), 0)
})

test('the checks end at once if the quote was refused or the placed order has ended', async () => {
  const refused = createGatewayStub({ answers: [NOT_FOUND], quoteAnswer: { outcome: 'refused', code: 'NO_SELLER', message: '' } })
  const ended = createGatewayStub({ answers: [NOT_FOUND], statuses: ['BUYER_REJECTED'] })
  for (const [stub, releases] of [
    [refused, 1],
    [ended, 0],
  ] as const) {
    stub.withdraw()
    await stub.settled()
    assert.deepEqual([stub.sentCommands.length, stub.now(), stub.countReleases()], [1, 2000, releases])
  }
})

test('the repetition ends when the gateway closes', async () => {
  const ending = createGatewayStub({ answers: [NOT_FOUND], statuses: ['WAITING_FOR_BUYER_PAYMENT'] })
  ending.withdraw()
  ending.closing.abort()
  await ending.settled()
  assert.equal(ending.sentCommands.length, 1)
})

test('a failed search for the answer is logged, and does not fail the answer to the buyer', async () => {
  const { withdraw, settled: runAllTurns, loggedWarnings } = createGatewayStub({ answers: [new Error('the database is away')] })
  withdraw()
  await runAllTurns()
  assert.deepEqual(loggedWarnings, ['withdrawing an order failed; unpaid, it expires'])
})

const placedBeforeWithdrawal: CommandAnswer = { outcome: 'accepted', revision: 3 }

test('a withdrawal whose sending fails is sent again', async () => {
  const stub = createGatewayStub({ answers: [placedBeforeWithdrawal], failedSends: 2 })
  stub.withdraw()
  await stub.settled()
  assert.deepEqual(
    stub.sentCommands.map(({ at, commandId }) => [at, commandId]),
    [
      [0, 'command-1'],
      [2000, 'command-2'],
      [6000, 'command-3'],
    ],
  )
  assert.deepEqual(stub.loggedWarnings, Array(2).fill('withdrawing an order failed; trying again'))
})

test('a fault of the database does not end the checks', async () => {
  const fault = new Fault('the database is away')
  const stub = createGatewayStub({
    answers: [fault, NOT_FOUND, placedBeforeWithdrawal],
    statuses: ['WAITING_FOR_SELLER_APPROVAL'],
  })
  stub.withdraw()
  await stub.settled()
  assert.deepEqual(
    stub.sentCommands.map(({ at }) => at),
    [0, 6000],
  )
})

test('a fault after the last check is logged', async () => {
  const stub = createGatewayStub({ answers: [], failedSends: 99 })
  stub.withdraw()
  await stub.settled()
  assert.equal(stub.loggedWarnings.at(-1), 'withdrawing an order failed; unpaid, it expires')
  assert.ok(stub.now() < 600_000)
})
