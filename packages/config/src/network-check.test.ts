import { Fault } from '@penstock/kernel/result.ts'
import { ConfigError } from './config-error.ts'
import { expect, test } from 'vitest'
import { rejectOtherNetwork, waitForNetwork } from './network-check.ts'

const clock = { sleep: () => Promise.resolve() }
/** A clock whose timeouts never end. */
const patientClock = { sleep: () => new Promise<void>(() => undefined) }
const on = (name: string, network: 'mainnet' | 'testnet') => async () => ({ name, network })
const ignore = (): void => undefined

test('an lnd node is refused if it is on another network than the configured network', async () => {
  await waitForNetwork('mainnet', on('lnd', 'mainnet'), clock, ignore)
  await expect(waitForNetwork('mainnet', on('lnd', 'testnet'), clock, ignore)).rejects.toThrow(ConfigError)
})

test('a bitcoin node is refused if it is on another network than the configured network', async () => {
  await rejectOtherNetwork('mainnet', on('the bitcoin node', 'mainnet'), patientClock, ignore)
  const started = rejectOtherNetwork('mainnet', on('the bitcoin node', 'testnet'), patientClock, ignore)
  await expect(started).rejects.toThrow(ConfigError)
  await expect(started).rejects.toThrow('the bitcoin node is on testnet, and PENSTOCK_NETWORK is mainnet.')
})

test('the start waits for an lnd node that does not answer, but not for a bitcoin node', async () => {
  const reasons: string[] = []
  let calls = 0
  const answerThirdCall = async () => {
    if (calls++ < 2) throw new Fault('no answer')
    return { name: 'lnd', network: 'mainnet' as const }
  }
  await waitForNetwork('mainnet', answerThirdCall, clock, (reason) => reasons.push(reason))
  expect([calls, reasons]).toEqual([3, ['no answer', 'no answer']])
  calls = 0
  await rejectOtherNetwork('mainnet', answerThirdCall, patientClock, (reason) => reasons.push(reason))
  expect([calls, reasons.length]).toEqual([1, 3])
})
