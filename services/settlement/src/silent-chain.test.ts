import { Fault } from '@penstock/kernel/result.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { afterEach, expect, test } from 'vitest'
import { GUARD_PAUSE_MS, type SettlementMarket, openSettlementMarket, shortenSleep } from './market.fixture.ts'

/** Blocks from the payment to the height at which the guard decides, E - 24. */
const LAST = 147 - 24

let market: SettlementMarket
afterEach(() => market.close())

const types = async (): Promise<readonly string[]> => (await market.facts()).map(({ type }) => type)

/** Mines to the last height with a ready node and a silent chain source, and waits until the guard has decided once. */
async function silentAtLast(): Promise<{ isSilent: boolean }> {
  const source = { isSilent: false, looks: 0 }
  market = await openSettlementMarket(
    {},
    ({ chain, ...ports }) => ({
      ...ports,
      chain: {
        ...chain,
        async output(...args) {
          if (!source.isSilent) return chain.output(...args)
          source.looks += 1
          throw new Fault('the chain source is silent')
        },
      },
    }),
    shortenSleep(GUARD_PAUSE_MS),
  )
  await market.issueHold()
  await market.openAndRegister(await market.payHold())
  market.control.mine(6)
  source.isSilent = true
  market.control.mine(LAST - 6)
  // The guard tries three times before it decides, and a round starts only after the previous round has ended.
  await waitUntil('the guard tried', () => source.looks >= 3)
  market.control.mine(1)
  await waitUntil('the guard ran again', () => source.looks > 3)
  for (const type of ['SettlementStarted', 'CancelRequested']) expect(await types()).not.toContain(type)
  return source
}

test('at the last height the guard waits for a silent chain source, and settles the hold once it answers', async () => {
  const source = await silentAtLast()
  source.isSilent = false
  market.control.mine(1)
  await market.fact('HoldSettled')
  expect(await types()).not.toContain('LossSearchStarted')
})

test('a chain source that is silent up to E - 18 leads to a cancellation and the check of an operator loss', async () => {
  await silentAtLast()
  market.control.mine(5)
  expect((await market.fact('HoldCancelled')).data).toMatchObject({ reason: 'last-height', verdict: null })
  expect(await types()).toContain('LossSearchStarted')
})
