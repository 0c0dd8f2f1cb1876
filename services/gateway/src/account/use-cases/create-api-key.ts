import { command } from '@penstock/kernel/process.ts'
import type { AccountTarget } from '@penstock/contracts/accounts.ts'
import { hashCredential, newCredential, visibleParts } from '@penstock/credentials/credentials.ts'
import { dashboardUser } from '../../access.ts'
import { assertAccepted, requireInTime } from '../../commands/commands.ts'
import { invalidInput } from '../../errors.ts'
import { isGiven, parseTextField, parseTimeField } from '../../input.ts'
import type { Gateway } from '../../ports.ts'
import { findApiKey } from '../read/accounts.ts'
import { dashboardLimit } from '../limits.ts'
import { mutation } from '../../use-case.ts'
import { toApiKeyRecord } from './api-key-record.ts'
import { getAnswerDeadline } from '../../commands/answer-deadline.ts'
import type { AccountMutationsCreateApiKeyArgs } from '../../generated/schema-types.ts'

function parseApiKey({ input }: AccountMutationsCreateApiKeyArgs, { clock }: Gateway) {
  const name = input.name ? parseTextField(input.name, 'name', 1, 100) : null
  const expiresAt = isGiven(input.expires_at) ? parseTimeField(input.expires_at, 'expires_at') : null
  if (expiresAt !== null && expiresAt <= clock.now()) throw invalidInput('expires_at must be in the future')
  return { name, expiresAt }
}

/** Creates an API key. Only this answer contains the key; the market stores its hash. */
export const createApiKey = mutation({
  path: 'account.create_api_key',
  limit: dashboardLimit,
  access: dashboardUser,
  input: parseApiKey,
  run: async ({ name, expiresAt }, { gateway, caller: { accountId } }) => {
    const { ids, records, clock, pepper } = gateway
    const nameRecord = name === null ? null : ids.uuid()
    if (nameRecord !== null) await records.put(nameRecord, 'api-key-name', JSON.stringify({ name }), clock.now())
    const key = newCredential('pak_', ids)
    const keyId = ids.uuid()
    const data = { keyId, keyHash: hashCredential(pepper, key), ...visibleParts(key), nameRecord, expiresAt }
    const answer = await gateway.commands.sendAndWait(
      command<AccountTarget>('account', accountId, { type: 'CreateApiKey', data }),
      {
        until: getAnswerDeadline(gateway),
      },
    )
    if (answer.outcome === 'refused' && nameRecord !== null) await records.delete(nameRecord)
    assertAccepted(answer)
    const row = requireInTime(await findApiKey(gateway.views, accountId, keyId))
    return { id: keyId, key, api_key: await toApiKeyRecord(gateway, row) }
  },
})
