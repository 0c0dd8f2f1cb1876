import { readConfig } from '@penstock/runtime/config.ts'
import { expect, test } from 'vitest'
import { policyFor } from './policy.ts'

const nothing = { offerId: null, requiredConfirmations: null, fundingConfirmsWithinBlocks: null }
const policy = (wanted = {}, env = {}) => policyFor({ ...nothing, ...wanted }, readConfig(env))

test('the operator’s values are copied', () => {
  expect(policy()).toEqual({
    policy: {
      version: 1,
      approvalWindowMs: 86_400_000,
      invoiceExpirySeconds: 3600,
      openWindowMs: 21_600_000,
      maxAttempts: 3,
      requiredConfirmations: 3,
      fundingSeenBlocks: 6,
      fundingConfirmsWithinBlocks: 6,
      cltvDelta: 30 + 3 * 36 + 6 + 6,
      guardBlocks: 24,
      payoutConfirmations: 6,
      withheldBlocks: 1008,
    },
  })
})

test.each([
  ['short windows: never below 144', {}, { PENSTOCK_OPEN_WINDOW_SECONDS: '12' }, 144],
  ['a window is rounded up to blocks', {}, { PENSTOCK_OPEN_WINDOW_SECONDS: '21601' }, 151],
  ['more confirmations than six count', { requiredConfirmations: 10 }, {}, 154],
  ['a request with a longer wait', { fundingConfirmsWithinBlocks: 20 }, {}, 164],
  ['up to 288', { fundingConfirmsWithinBlocks: 144 }, {}, 288],
  ['one attempt on a named offer', { offerId: 'named', fundingConfirmsWithinBlocks: 90 }, {}, 162],
])('CLTV delta: %s', (_, wanted, env, cltvDelta) => expect(policy(wanted, env)).toMatchObject({ policy: { cltvDelta } }))

test('fewer confirmations than ours are never taken', () => {
  expect(policy({ requiredConfirmations: 1 })).toMatchObject({ policy: { requiredConfirmations: 3 } })
  expect(policy({ requiredConfirmations: 5 })).toMatchObject({ policy: { requiredConfirmations: 5 } })
})

test('a hold that would last too long is refused, by the option that is too large', () => {
  expect(policy({ fundingConfirmsWithinBlocks: 145 })).toMatchObject({
    refused: { code: 'FUNDING_CONFIRMS_TOO_LATE', message: expect.stringContaining('at most 144') as string },
  })
  expect(policy({ requiredConfirmations: 145 })).toMatchObject({
    refused: { code: 'TOO_MANY_CONFIRMATIONS', message: expect.stringContaining('at most 144') as string },
  })
})
