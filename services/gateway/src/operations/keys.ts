import { account } from '@penstock/contracts/accounts.ts'
import { isoTime } from '@penstock/kernel/time.ts'
import { hashCredential, newCredential, shownParts } from '@penstock/runtime/credentials.ts'
import { ask } from '@penstock/runtime/service.ts'
import { type Caller, dashboardUser } from '../callers.ts'
import { accepted, inTime } from '../commands/answers.ts'
import { invalid } from '../errors.ts'
import { idOf, listOf, type PageInput, pageOf, textOf, timeOf } from '../input.ts'
import type { Gateway } from '../ports.ts'
import { apiKeyById, type ApiKeyRow, apiKeysOf, recordText } from '../read/accounts.ts'
import { answerBy } from './offers.ts'

export type CreateApiKeyInput = { readonly name?: string | null; readonly expires_at?: string | null }

/** The key is told once: afterwards there is only its hash. */
export async function createApiKey(gateway: Gateway, caller: Caller | null, input: CreateApiKeyInput) {
  const { accountId } = dashboardUser(caller)
  const { ids, records, clock, pepper } = gateway
  const name = input.name ? textOf(input.name, 'name', 1, 100) : null
  const expiresAt = input.expires_at ? timeOf(input.expires_at, 'expires_at') : null
  if (expiresAt !== null && expiresAt <= clock.now()) throw invalid('expires_at must be in the future')
  const nameRecord = name === null ? null : ids.uuid()
  if (nameRecord !== null) await records.put(nameRecord, 'api-key-name', JSON.stringify({ name }), clock.now())
  const key = newCredential('pak_', ids)
  const keyId = ids.uuid()
  const data = { keyId, keyHash: hashCredential(pepper, key), ...shownParts(key), nameRecord, expiresAt }
  const answer = await gateway.commands.ask(ask(account, accountId, 'CreateApiKey', data), { until: answerBy(gateway) })
  if (answer.outcome === 'refused' && nameRecord !== null) await records.delete(nameRecord)
  accepted(answer)
  const made = inTime(await apiKeyById(gateway.views, accountId, keyId))
  return { id: keyId, key, api_key: await apiKeyOf(gateway, made) }
}

export async function revokeApiKey(gateway: Gateway, caller: Caller | null, id: string) {
  const { accountId } = dashboardUser(caller)
  const keyId = idOf(id)
  if (!(await apiKeyById(gateway.views, accountId, keyId))) throw invalid('API key not found')
  accepted(await gateway.commands.ask(ask(account, accountId, 'RevokeApiKey', { keyId }), { until: answerBy(gateway) }))
  return { id: keyId, active: false }
}

export async function listApiKeys(gateway: Gateway, caller: Caller | null, page: PageInput | null | undefined) {
  const { accountId } = dashboardUser(caller)
  const pagination = pageOf(page)
  const { total, list } = await apiKeysOf(gateway.views, accountId, pagination)
  return {
    ...listOf(`${accountId}/api_keys`, pagination),
    total_count: total,
    list: await Promise.all(list.map((row) => apiKeyOf(gateway, row))),
  }
}

async function apiKeyOf({ records, clock }: Gateway, row: ApiKeyRow) {
  return {
    id: row.id,
    name: (await recordText(records, row.name_record, 'name')) ?? null,
    key_prefix: row.prefix,
    key_suffix: row.suffix,
    created_at: isoTime(row.created_at),
    expires_at: row.expires_at === null ? null : isoTime(row.expires_at),
    active: row.revoked === 0 && (row.expires_at === null || row.expires_at > clock.now()),
  }
}
