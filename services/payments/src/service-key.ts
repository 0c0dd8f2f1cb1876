import type { Permission, ServiceKeyCommand, ServiceKeyFact } from '@penstock/contracts/payments/service-key.ts'
import { accept, type Decider, type Decision, type Refusal, refuse } from '@penstock/kernel/decider.ts'
import { serviceKeyNotFound } from './refusals.ts'

export type ServiceKey = { readonly status: 'NONE' } | { readonly status: 'ISSUED' | 'REVOKED'; readonly nameRecord: string }

type ServiceKeyRefusal = Refusal<'EXPIRY_PASSED' | 'PERMISSIONS_INVALID' | 'NOT_FOUND'>
type IssueKeyData = Extract<ServiceKeyCommand, { readonly type: 'IssueKey' }>['data']

function evolve(key: ServiceKey, fact: ServiceKeyFact): ServiceKey {
  switch (fact.type) {
    case 'KeyIssued':
      return { status: 'ISSUED', nameRecord: fact.data.nameRecord }
    case 'KeyRenamed':
      return { status: key.status === 'REVOKED' ? 'REVOKED' : 'ISSUED', nameRecord: fact.data.nameRecord }
    case 'KeyRevoked':
      return key.status === 'NONE' ? key : { ...key, status: 'REVOKED' }
  }
}

function decide(key: ServiceKey, { type, at, data }: ServiceKeyCommand): Decision<ServiceKeyFact, ServiceKeyRefusal> {
  switch (type) {
    case 'IssueKey':
      return key.status === 'NONE' ? issueKey(data, at) : accept()
    case 'RenameKey':
      if (key.status === 'NONE') return serviceKeyNotFound
      return key.nameRecord === data.nameRecord ? accept() : accept({ type: 'KeyRenamed', v: 1, data })
    case 'RevokeKey':
      if (key.status === 'NONE') return serviceKeyNotFound
      return key.status === 'REVOKED' ? accept() : accept({ type: 'KeyRevoked', v: 1, data })
  }
}

function issueKey(data: IssueKeyData, at: number): Decision<ServiceKeyFact, ServiceKeyRefusal> {
  if (data.expiresAt !== null && data.expiresAt <= at)
    return refuse('EXPIRY_PASSED', 'expires_at has passed; give a future time, or none.')
  const credentials = data.permissions.filter(({ resource }) => resource === 'WALLET_CREDENTIALS')
  if (credentials.some(({ level }) => level === 'WRITE'))
    return refuse('PERMISSIONS_INVALID', 'WALLET_CREDENTIALS has no level WRITE; use READ.')
  if (credentials.length > 0 && (data.walletId === null || !data.permissions.some(isForWallets)))
    return refuse('PERMISSIONS_INVALID', 'WALLET_CREDENTIALS needs a wallet_id and a permission for WALLETS.')
  return accept({ type: 'KeyIssued', v: 1, data })
}

const isForWallets = ({ resource }: Permission): boolean => resource === 'WALLETS'

/** The key itself is never here: the gateway creates it, and checks calls against its keyed hash. */
export const serviceKeyDecider: Decider<ServiceKey, ServiceKeyCommand, ServiceKeyFact, ServiceKeyRefusal> = {
  initial: { status: 'NONE' },
  evolve,
  decide,
}
