import { command } from '@penstock/kernel/process.ts'
import type { ServiceKeyTarget } from '@penstock/contracts/payments/service-key.ts'
import { hashCredential, newCredential, visibleParts } from '@penstock/credentials/credentials.ts'
import { dashboardUser } from '../../access.ts'
import { getAnswerDeadline } from '../../commands/answer-deadline.ts'
import { invalidInput } from '../../errors.ts'
import type { ServiceApiKeyMutationsCreateArgs } from '../../generated/schema-types.ts'
import { isGiven, parseId, parseTimeField } from '../../input.ts'
import type { Gateway } from '../../ports.ts'
import { mutation } from '../../use-case.ts'
import { dashboardLimit } from '../../account/limits.ts'
import { parseNameField } from '../input.ts'
import { requireEnvironment } from '../read/environments.ts'
import { requireWallet } from '../read/wallets.ts'
import { sendNamedCommand } from '../use-cases/named-command.ts'
import { parsePermissions } from './key-permissions.ts'
import { toServiceKeyRecord } from './key-record.ts'
import { requireTeamKey } from './read.ts'

function parseKey({ input }: ServiceApiKeyMutationsCreateArgs, { clock }: Gateway) {
  const name = parseNameField(input.name)
  const environmentId = parseId(input.environment_id)
  const walletId = isGiven(input.wallet_id) ? parseId(input.wallet_id) : null
  const nodeId = isGiven(input.node_id) ? parseId(input.node_id) : null
  if (nodeId !== null) throw invalidInput('Keys for a node are not served yet. Leave node_id out.')
  const expiresAt = isGiven(input.expires_at) ? parseTimeField(input.expires_at, 'expires_at') : null
  if (expiresAt !== null && expiresAt <= clock.now()) throw invalidInput('expires_at must be in the future')
  return { name, environmentId, walletId, expiresAt, permissions: parsePermissions(input.permissions, walletId) }
}

/** Creates a service API key. Only this answer contains the key; the service stores its keyed hash. */
export const createServiceKey = mutation({
  path: 'service_api_key.create',
  limit: dashboardLimit,
  access: dashboardUser,
  input: parseKey,
  run: async ({ name, environmentId, walletId, expiresAt, permissions }, { gateway, caller: { accountId: teamId } }) => {
    const { views, ids, pepper } = gateway
    const user = { teamId, key: null }
    const { type } = await requireEnvironment(views, user, environmentId)
    if (walletId !== null && (await requireWallet(views, user, walletId)).environment_id !== environmentId)
      throw invalidInput('Wallet not found')
    const key = newCredential(type === 'LIVE' ? 'plv_' : 'psb_', ids)
    const [id, keyHash] = [ids.uuid(), hashCredential(pepper, key)]
    const issued = { environmentId, teamId, keyHash, ...visibleParts(key), walletId, nodeId: null, expiresAt }
    await sendNamedCommand(gateway, name, getAnswerDeadline(gateway), (nameRecord) =>
      command<ServiceKeyTarget>('servicekey', id, {
        type: 'IssueKey',
        data: { ...issued, nameRecord, permissions: [...permissions] },
      }),
    )
    const row = await requireTeamKey(views, teamId, id)
    return { id, plaintext_key: key, key: toServiceKeyRecord(gateway, row) }
  },
})
