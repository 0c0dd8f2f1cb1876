import { given } from '@penstock/testkit/given.ts'
import { test } from 'vitest'
import { emailClaimDecider, nodeClaimDecider } from './claims.ts'

const [first, second] = ['01890000-0000-7000-8000-000000000001', '01890000-0000-7000-8000-000000000002']
const claim = (accountId: string) => ({
  accountId,
  emailRecord: '01890000-0000-7000-8000-000000000003',
  passwordRecord: '01890000-0000-7000-8000-000000000004',
  tokenHash: 'a'.repeat(64),
  tokenExpiresAt: 1,
})

test('an e-mail address opens one account', () => {
  const claimed = { type: 'EmailClaimed', v: 1, data: claim(first) } as const
  given(emailClaimDecider)
    .when({ type: 'ClaimEmail', data: claim(first) })
    .then(claimed)
  given(emailClaimDecider, claimed)
    .when({ type: 'ClaimEmail', data: claim(first) })
    .then()
  given(emailClaimDecider, claimed)
    .when({ type: 'ClaimEmail', data: claim(second) })
    .refuses('ACCOUNT_REFUSED')
})
test('a node belongs to one account; the other is told so once, by a fact', () => {
  const ask = (accountId: string) => ({ type: 'ClaimNode' as const, data: { accountId } })
  const claimed = { type: 'NodeClaimed', v: 1, data: { accountId: first } } as const
  const refused = { type: 'NodeClaimRefused', v: 1, data: { accountId: second } } as const
  given(nodeClaimDecider).when(ask(first)).then(claimed)
  given(nodeClaimDecider, claimed).when(ask(first)).then()
  given(nodeClaimDecider, claimed).when(ask(second)).then(refused)
  given(nodeClaimDecider, claimed, refused).when(ask(second)).then()
})
