import { createLoginChallenge } from '@penstock/credentials/credentials.ts'
import { MINUTE_MS } from '@penstock/kernel/time.ts'
import { anyone } from '../../access.ts'
import { parsePubkeyField } from '../../input.ts'
import { logInLimit } from '../limits.ts'
import { mutation } from '../../use-case.ts'
import type { AccountMutationsLoginChallengeArgs } from '../../generated/schema-types.ts'

/** Creates a challenge for the log-in by a node, valid for 10 minutes. It contains an HMAC, so the gateway does not store it. */
export const challengeLogin = mutation({
  path: 'account.login_challenge',
  limit: logInLimit,
  access: anyone,
  input: ({ pubkey }: AccountMutationsLoginChallengeArgs) => parsePubkeyField(pubkey),
  run: async (pubkey, { gateway: { pepper, clock, ids } }) =>
    createLoginChallenge(pepper, { pubkey, expiresAt: clock.now() + 10 * MINUTE_MS }, ids),
})
