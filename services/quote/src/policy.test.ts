import { readConfig } from '@penstock/config/config.ts'
import { expect, test } from 'vitest'
import { choosePolicy } from './policy.ts'

const noOptions = { offerId: null, requiredConfirmations: null, fundingConfirmsWithinBlocks: null }
const policy = (options = {}, env = {}) => choosePolicy({ ...noOptions, ...options }, readConfig(env))

test('a policy copies the operator’s settings', () => {
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
  ['is at least 144 with short windows', {}, { PENSTOCK_OPEN_WINDOW_SECONDS: '12' }, 144],
  ['rounds a window up to blocks', {}, { PENSTOCK_OPEN_WINDOW_SECONDS: '21601' }, 151],
  ['includes more than six confirmations', { requiredConfirmations: 10 }, {}, 154],
  ['includes a longer wait of the request', { fundingConfirmsWithinBlocks: 20 }, {}, 164],
  ['is at most 288', { fundingConfirmsWithinBlocks: 144 }, {}, 288],
  ['includes one attempt for a manual order', { offerId: 'named', fundingConfirmsWithinBlocks: 90 }, {}, 162],
])('the CLTV delta %s', (_, options, env, cltvDelta) => expect(policy(options, env)).toMatchObject({ policy: { cltvDelta } }))

test('a request cannot lower the number of confirmations below our setting', () => {
  expect(policy({ requiredConfirmations: 1 })).toMatchObject({ policy: { requiredConfirmations: 3 } })
  expect(policy({ requiredConfirmations: 5 })).toMatchObject({ policy: { requiredConfirmations: 5 } })
})

test('a hold that would last too long is refused with the option that is too large', () => {
  expect(policy({ fundingConfirmsWithinBlocks: 145 })).toMatchObject({
    refused: { code: 'FUNDING_CONFIRMS_TOO_LATE', message: expect.stringContaining('at most 144') as string },
  })
  expect(policy({ requiredConfirmations: 145 })).toMatchObject({
    refused: { code: 'TOO_MANY_CONFIRMATIONS', message: expect.stringContaining('at most 144') as string },
  })
})
