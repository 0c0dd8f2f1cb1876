import { readConfig } from '@penstock/config/config.ts'
import type { BasePorts } from '@penstock/runtime/base-ports.ts'
import type { Event } from '@penstock/runtime/service.ts'
import { expect, test } from 'vitest'
import { enrichRequestReceive, enrichRequestSend, enrichSandboxOutcome } from './enrich.ts'
import { rate, receiveRequest, sendRequest, START } from './samples.fixture.ts'
import { createPaymentsView } from './views.ts'

const { walletId, environmentId } = receiveRequest
const wallet = { walletId, environmentId }
const eventOf = (aggregateId: string, type: string, data: object = {}) =>
  ({ aggregateId, fact: { type, v: 1, data } }) as unknown as Event // The view reads these fields only.
const priceSet = (centsPerBtc: string, validUntil: number) =>
  eventOf('2027-01-15', 'PriceSet', {
    satsPerUsd: '1',
    usdPerUsd: '1',
    rate: { centsPerBtc, at: rate.at, samples: [] },
    fundingFees: null,
    validUntil,
  })
const about = (now: number, env: Record<string, string> = {}) => ({
  ports: { clock: { now: () => now }, config: readConfig(env) } as unknown as BasePorts, // The enrichers use these ports only.
})

test('the rate is the one of the latest price, while that price is valid', () => {
  const view = createPaymentsView()
  expect(view.rateAt(START)).toBeNull()
  view.apply(priceSet('1', START + 10))
  view.apply(priceSet('9650000', START + 20))
  expect(view.rateAt(START + 19)).toEqual(rate)
  expect(view.rateAt(START + 20)).toBeNull()
})

test('a withdrawn price has no rate, until a new price is set', () => {
  const view = createPaymentsView()
  view.apply(priceSet('1', START + 10))
  view.apply(eventOf('2027-01-15', 'PriceWithdrawn', { reason: 'The sources of the rate differ.' }))
  expect(view.rateAt(START)).toBeNull()
  view.apply(priceSet('9650000', START + 10))
  expect(view.rateAt(START)).toEqual(rate)
})

test('a wallet is deleted if it or its environment was deleted, and an unknown wallet is not', () => {
  for (const [id, type] of [
    [walletId, 'WalletDeleted'],
    [environmentId, 'EnvironmentDeleted'],
  ] as const) {
    const view = createPaymentsView()
    expect(view.isDeleted(wallet)).toBe(false)
    view.apply(eventOf(environmentId, 'EnvironmentCreated'))
    view.apply(eventOf(walletId, 'WalletCreated'))
    expect(view.isDeleted(wallet)).toBe(false)
    view.apply(eventOf(id, type))
    expect(view.isDeleted(wallet)).toBe(true)
    expect(view.isDeleted({ walletId: 'another', environmentId: 'another' })).toBe(false)
  }
})

test('enrichment adds the rate, the time of the outcome, and whether the wallet is deleted', async () => {
  const view = createPaymentsView()
  view.apply(priceSet('9650000', START + 60_000))
  const now = about(START + 5000)
  expect(await enrichRequestReceive(view)(receiveRequest, now)).toEqual({ rate, outcomeAt: START + 1000, isDeleted: false })
  expect(await enrichRequestSend(view)(sendRequest, now)).toEqual({ rate, outcomeAt: START + 6000, isDeleted: false })
  view.apply(eventOf(walletId, 'WalletDeleted'))
  expect(await enrichRequestSend(view)(sendRequest, now)).toMatchObject({ isDeleted: true })
  expect(await enrichRequestReceive(view)(receiveRequest, about(START + 60_000))).toMatchObject({ rate: null })
})

test('the delay of an outcome is a setting, and an expiring transaction has no outcome', async () => {
  const view = createPaymentsView()
  const slow = about(START, { PENSTOCK_SANDBOX_OUTCOME_SECONDS: '30' })
  for (const behavior of ['complete', 'fail'] as const) {
    expect(await enrichRequestReceive(view)({ ...receiveRequest, behavior }, slow)).toMatchObject({ outcomeAt: START + 30_000 })
    expect(await enrichRequestSend(view)({ ...sendRequest, behavior }, slow)).toMatchObject({ outcomeAt: START + 30_000 })
  }
  expect(await enrichRequestReceive(view)({ ...receiveRequest, behavior: 'expire' }, slow)).toMatchObject({ outcomeAt: null })
  expect(await enrichRequestSend(view)({ ...sendRequest, behavior: 'expire' }, slow)).toMatchObject({ outcomeAt: null })
})

test('an outcome gets the rate that is valid at its time', async () => {
  const view = createPaymentsView()
  view.apply(priceSet('9650000', START + 10))
  expect(await enrichSandboxOutcome(view)({}, about(START))).toEqual({ rate })
  expect(await enrichSandboxOutcome(view)({}, about(START + 10))).toEqual({ rate: null })
})
