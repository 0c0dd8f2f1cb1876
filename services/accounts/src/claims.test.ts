import { given } from '@penstock/testkit/given.ts'
import { test } from 'vitest'
import { emailClaimDecider, nodeClaimDecider } from './claims.ts'

const [first, second] = ['01890000-0000-7000-8000-000000000001', '01890000-0000-7000-8000-000000000002']
/** `emailRecord` and `passwordRecord` are ids of rows outside the streams, with the address and the password hash. */
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
test('a node belongs to one account; a fact records the refusal of another account once', () => {
  const claimNode = (accountId: string) => ({ type: 'ClaimNode' as const, data: { accountId } })
  const claimed = { type: 'NodeClaimed', v: 1, data: { accountId: first } } as const
  const refused = { type: 'NodeClaimRefused', v: 1, data: { accountId: second } } as const
  given(nodeClaimDecider).when(claimNode(first)).then(claimed)
  given(nodeClaimDecider, claimed).when(claimNode(first)).then()
  given(nodeClaimDecider, claimed).when(claimNode(second)).then(refused)
  given(nodeClaimDecider, claimed, refused).when(claimNode(second)).then()
})

test('a deleted account releases only its own address', () => {
  const claimed = { type: 'EmailClaimed', v: 1, data: claim(first) } as const
  const release = (accountId: string) => ({ type: 'ReleaseEmail' as const, data: { accountId } })
  const released = { type: 'EmailReleased', v: 1, data: { accountId: first } } as const
  given(emailClaimDecider, claimed).when(release(first)).then(released)
  given(emailClaimDecider, claimed).when(release(second)).then()
  given(emailClaimDecider, claimed, released).when(release(first)).then()
  const reclaimed = { type: 'EmailClaimed', v: 1, data: claim(second) } as const
  given(emailClaimDecider, claimed, released)
    .when({ type: 'ClaimEmail', data: claim(second) })
    .then(reclaimed)
  given(emailClaimDecider, claimed, released, reclaimed).when(release(first)).then()
})
test('a deleted account releases its node, and cannot claim it again', () => {
  const claimNode = (accountId: string) => ({ type: 'ClaimNode' as const, data: { accountId } })
  const release = (accountId: string) => ({ type: 'ReleaseNode' as const, data: { accountId } })
  const claimed = { type: 'NodeClaimed', v: 1, data: { accountId: first } } as const
  const released = { type: 'NodeReleased', v: 1, data: { accountId: first } } as const
  given(nodeClaimDecider, claimed).when(release(first)).then(released)
  given(nodeClaimDecider, claimed, released).when(release(first)).then()
  given(nodeClaimDecider, claimed, released)
    .when(claimNode(second))
    .then({ type: 'NodeClaimed', v: 1, data: { accountId: second } })
  // The claim arrives after its account was deleted and released the node.
  given(nodeClaimDecider).when(release(first)).then(released)
  given(nodeClaimDecider, released).when(claimNode(first)).then()
  // The stream records the release by another account, but the node still belongs to its account.
  const other = { type: 'NodeReleased', v: 1, data: { accountId: second } } as const
  given(nodeClaimDecider, claimed).when(release(second)).then(other)
  given(nodeClaimDecider, claimed, other).when(claimNode(first)).then()
})
