import { Fault } from '@penstock/kernel/result.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { until } from '@penstock/testkit/until.ts'
import { afterEach, expect, test } from 'vitest'
import { type Market, openMarket } from './market.contract.ts'

/** Blocks from the payment to the height at which the guard decides, E - 24. */
const LAST = 147 - 24
/** The guard's pause between two looks at the last height. */
const TRY_AGAIN_MS = 3000

const withShortPauses = (clock: Clock): Clock => ({
  ...clock,
  sleep: (ms, signal) => clock.sleep(ms === TRY_AGAIN_MS ? 10 : ms, signal),
})

let market: Market
afterEach(() => market.close())

const types = async (): Promise<readonly string[]> => (await market.facts()).map(({ type }) => type)

/** At the last height our node is ready, and the chain source says nothing. The guard has decided once. */
async function silentAtLast(): Promise<{ isSilent: boolean }> {
  const source = { isSilent: false, looks: 0 }
  market = await openMarket(
    {},
    ({ chain, ...ports }) => ({
      ...ports,
      chain: {
        ...chain,
        async output(...asked) {
          if (!source.isSilent) return chain.output(...asked)
          source.looks += 1
          throw new Fault('the chain source is silent')
        },
      },
    }),
    withShortPauses,
  )
  await market.issue()
  await market.noted(await market.held())
  market.control.mine(6)
  source.isSilent = true
  market.control.mine(LAST - 6)
  // The guard looks three times before it decides, and a round begins when the one before it has ended.
  await until('the guard looked', () => source.looks === 3)
  market.control.mine(1)
  await until('the guard came again', () => source.looks > 3)
  for (const word of ['SettleRequested', 'CancelRequested']) expect(await types()).not.toContain(word)
  return source
}

test('a silent chain source is waited for at the last height: the hold is settled once it answers', async () => {
  const source = await silentAtLast()
  source.isSilent = false
  market.control.mine(1)
  await market.fact('HoldSettled')
  expect(await types()).not.toContain('LossAsked')
})

test('a chain source that is silent up to E - 18 gives the payment back, and asks for the loss', async () => {
  await silentAtLast()
  market.control.mine(5)
  expect((await market.fact('HoldCancelled')).data).toMatchObject({ reason: 'last-height', verdict: null })
  expect(await types()).toContain('LossAsked')
})
