import { DAY_MS } from '@penstock/kernel/time.ts'
import { hashCredential, newCredential } from '@penstock/credentials/credentials.ts'
import { requireInTime } from '../../commands/commands.ts'
import type { Gateway } from '../../ports.ts'
import { hasCredential } from '../read/accounts.ts'
import { recordSessionStart } from '../views/sessions.ts'
import { readProfile } from './profile.ts'

type LoginToken = { readonly token: string; readonly tokenHash: string; readonly expiresAt: number; readonly ip: string }

export function createLoginToken({ ids, pepper, clock, config }: Gateway, ip: string): LoginToken {
  const token = newCredential('pdt_', ids)
  return { token, tokenHash: hashCredential(pepper, token), expiresAt: clock.now() + config.dashboardTokenDays * DAY_MS, ip }
}

/** Returns the token only once the read models contain its credential, so that every replica accepts it. */
export async function completeLogin(gateway: Gateway, { token, tokenHash, ip }: LoginToken, accountId: string, until: number) {
  requireInTime(
    await gateway.waiters.wait(async () => (await hasCredential(gateway.views, tokenHash)) || undefined, [accountId], until),
  )
  await recordSessionStart(gateway.views, { hash: tokenHash, ip, now: gateway.clock.now() })
  return { id: accountId, token, account: await readProfile(gateway, accountId) }
}
