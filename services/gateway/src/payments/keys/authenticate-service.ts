import { hashCredential, isServiceKey } from '@penstock/credentials/credentials.ts'
import type { ServiceCaller } from '../../access.ts'
import { unauthenticated } from '../../errors.ts'
import { recordRefusal } from '../../http/refusals.ts'
import type { Gateway } from '../../ports.ts'
import { enforceRateLimit } from '../../rate-limit.ts'
import { findOpenKey, readPermissions } from './read.ts'
import { recordKeyUse } from './uses.ts'

type AuthenticationPorts = Pick<Gateway, 'views' | 'pepper' | 'clock' | 'limits' | 'config' | 'log'>

/**
 * Reads the row of the key at each request, so that a revoked key stops working at once in every process.
 * @param header the header x-api-key, undefined if the request has none
 * @param ip the caller's address, for which unknown keys are counted
 * @throws unauthenticated if the header contains no valid key, or an error with status 429 if the address sent too many of them
 */
export async function authenticateService(
  gateway: AuthenticationPorts,
  header: string | undefined,
  ip: string,
): Promise<ServiceCaller | null> {
  if (header === undefined) return null
  // The checksum refuses a damaged key without a look-up.
  if (!isServiceKey(header)) throw unauthenticated()
  const now = gateway.clock.now()
  const key = await findOpenKey(gateway.views, hashCredential(gateway.pepper, header), now)
  if (!key) return refuseUnknownKey(gateway, ip)
  await recordKeyUse(gateway.views, { keyId: key.id, now }, key.last_used_at)
  const { id: keyId, team_id: teamId, environment_id: environmentId, wallet_id: walletId } = key
  return { keyId, teamId, environmentId, walletId, permissions: readPermissions(key) }
}

async function refuseUnknownKey(gateway: AuthenticationPorts, ip: string): Promise<never> {
  const { dashboardPerMinute: perMinute } = gateway.config
  await enforceRateLimit(gateway, { name: 'unknown-key', ip, perMinute }).catch((error: unknown) => {
    recordRefusal(gateway, { method: 'any', code: 'limited', ip })
    throw error
  })
  throw unauthenticated()
}
