import type { AddressedCommand } from '@penstock/kernel/process.ts'
import assert from 'node:assert/strict'
import { test } from 'vitest'
import type { CommandAnswer } from '../../commands/commands.ts'
import { withdrawWhenPlaced } from './withdraw-order.ts'

const NOT_FOUND: CommandAnswer = { outcome: 'refused', code: 'NOT_FOUND', message: 'Order not found' }
const nextTurn = (): Promise<void> => new Promise(setImmediate)

/** Creates a gateway that finds these answers in their order; every later search finds the last answer. */
function createGatewayStub(...answers: readonly (CommandAnswer | undefined | Error)[]) {
  let [now, answerCount, idCount] = [0, 0, 0]
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
    send: async (ask: AddressedCommand, { commandId }: { readonly commandId: string }) =>
      void sentCommands.push({ at: now, ask, commandId }),
    commands: {
      findAnswer: async () => {
        const answer = answers[Math.min(answerCount++, answers.length - 1)]
        if (answer instanceof Error) throw answer
        return answer
      },
    },
  }
  const withdraw = () => withdrawWhenPlaced(ports, 'one', 'late')
  const runAllTurns = async (): Promise<void> => {
    for (let turns = 0; turns < 40; turns++) await nextTurn()
  }
  return { withdraw, settled: runAllTurns, sentCommands, loggedWarnings, closing, now: () => now }
}

test('an order that is placed after its withdrawal arrived is withdrawn again', async () => {
  const {
    withdraw,
    settled: runAllTurns,
    sentCommands,
  } = createGatewayStub(undefined, NOT_FOUND, NOT_FOUND, { outcome: 'accepted', revision: 3 })
  await withdraw()
  assert.equal(sentCommands.length, 1)
  await runAllTurns()
  assert.deepEqual(
    sentCommands.map(({ commandId }) => commandId),
    ['command-1', 'command-2', 'command-3'],
  )
  for (const { ask } of sentCommands) assert.deepEqual([ask.category, ask.id, ask.command.type], ['order', 'one', 'Withdraw'])
})

test('the withdrawal is not repeated after an answer other than NOT_FOUND', async () => {
  for (const answer of [
    { outcome: 'accepted', revision: 3 },
    { outcome: 'refused', code: 'HELD', message: 'held' },
  ] as const) {
    const { withdraw, settled: runAllTurns, sentCommands } = createGatewayStub(answer)
    await withdraw()
    await runAllTurns()
    assert.equal(sentCommands.length, 1)
  }
})

test('the repetition ends after 300 s if the order is never placed, and when the gateway closes', async () => {
  const never = createGatewayStub(NOT_FOUND)
  await never.withdraw()
  await never.settled()
  assert.ok(never.sentCommands.length > 4 && never.sentCommands.length < 12)
  assert.ok(never.now() >= 300_000)
  const ending = createGatewayStub(NOT_FOUND)
  await ending.withdraw()
  ending.closing.abort()
  await ending.settled()
  assert.equal(ending.sentCommands.length, 1)
})

test('a failed search for the answer is logged, and does not fail the answer to the buyer', async () => {
  const { withdraw, settled: runAllTurns, loggedWarnings } = createGatewayStub(new Error('the database is away'))
  await withdraw()
  await runAllTurns()
  assert.deepEqual(loggedWarnings, ['withdrawing an order failed; unpaid, it expires'])
})
