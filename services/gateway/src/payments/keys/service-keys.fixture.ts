import type { Permission } from '@penstock/contracts/payments/service-key.ts'
import { hashCredential, newCredential, visibleParts } from '@penstock/credentials/credentials.ts'
import type { GraphqlResult } from '../../gateway-harness.fixture.ts'
import { type GatewayPorts, openPaymentsHarness, type PaymentsHarness, TEAM } from '../payments.fixture.ts'

export type IssuedKey = {
  readonly teamId?: string
  readonly environmentId: string
  readonly walletId?: string | null
  readonly expiresAt?: number | null
  readonly permissions?: readonly Permission[]
}

/** Signs up the account of a team. Its keys need it. */
export const signUp = (payments: Pick<PaymentsHarness, 'project'>, teamId: string): Promise<void> =>
  payments.project('account', teamId, [
    {
      type: 'AccountCreated',
      data: { emailHash: `${teamId.slice(-1).repeat(64)}`, emailRecord: teamId, passwordRecord: teamId },
    },
  ])

/** Opens a gateway with a sandbox of a team, whose service API keys work. */
export async function openServiceKeysHarness(env: Record<string, string> = {}, ports: GatewayPorts = {}) {
  const payments = await openPaymentsHarness({ env, ports })
  const { harness } = payments
  await signUp(payments, TEAM)
  const sandbox = await payments.createSandbox()

  /** Projects a key without the gateway's checks, such as a key that has expired. */
  const issueKey = async ({ teamId = TEAM, environmentId, walletId = null, expiresAt = null, permissions = ALL }: IssuedKey) => {
    const { ids, pepper } = harness.gateway
    const [id, key] = [ids.uuid(), newCredential('psb_', ids)]
    const owner = { environmentId, teamId, walletId, nodeId: null, expiresAt, permissions }
    const data = { ...owner, keyHash: hashCredential(pepper, key), ...visibleParts(key), nameRecord: ids.uuid() }
    await payments.project('servicekey', id, [{ type: 'KeyIssued', data }])
    return { id, key }
  }
  return {
    ...payments,
    ...sandbox,
    issueKey,
    /** Sends a document with a service API key, and with a Bearer credential if there is one. */
    gqlWithKey: (key: string, document: string, variables: object = {}, bearer?: string): Promise<GraphqlResult> =>
      harness.post(document, variables, { 'x-api-key': key, ...(bearer && { authorization: `Bearer ${bearer}` }) }),
  }
}
export type ServiceKeysHarness = Awaited<ReturnType<typeof openServiceKeysHarness>>

/** Every permission that a key without a wallet may have. */
export const ALL: readonly Permission[] = [
  { resource: 'ENVIRONMENTS', level: 'WRITE' },
  { resource: 'WALLETS', level: 'WRITE' },
  { resource: 'PAYMENTS', level: 'WRITE' },
  { resource: 'WEBHOOKS', level: 'WRITE' },
]

/** The code of the first error of an answer, or its message with `message`; undefined without an error. */
export const codeOf = ({ errors }: GraphqlResult): unknown => errors?.[0]?.extensions['code']
