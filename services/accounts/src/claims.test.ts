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

test('a deleted account gives its address back, and only its own', () => {
  const claimed = { type: 'EmailClaimed', v: 1, data: claim(first) } as const
  const release = (accountId: string) => ({ type: 'ReleaseEmail' as const, data: { accountId } })
  const released = { type: 'EmailReleased', v: 1, data: { accountId: first } } as const
  given(emailClaimDecider, claimed).when(release(first)).then(released)
  given(emailClaimDecider, claimed).when(release(second)).then()
  given(emailClaimDecider, claimed, released).when(release(first)).then()
  const again = { type: 'EmailClaimed', v: 1, data: claim(second) } as const
  given(emailClaimDecider, claimed, released)
    .when({ type: 'ClaimEmail', data: claim(second) })
    .then(again)
  given(emailClaimDecider, claimed, released, again).when(release(first)).then()
})
test('a deleted account gives its node back, and claims it no more', () => {
  const ask = (accountId: string) => ({ type: 'ClaimNode' as const, data: { accountId } })
  const release = (accountId: string) => ({ type: 'ReleaseNode' as const, data: { accountId } })
  const claimed = { type: 'NodeClaimed', v: 1, data: { accountId: first } } as const
  const released = { type: 'NodeReleased', v: 1, data: { accountId: first } } as const
  given(nodeClaimDecider, claimed).when(release(first)).then(released)
  given(nodeClaimDecider, claimed, released).when(release(first)).then()
  given(nodeClaimDecider, claimed, released)
    .when(ask(second))
    .then({ type: 'NodeClaimed', v: 1, data: { accountId: second } })
  // The claim was under way when the account was deleted.
  given(nodeClaimDecider).when(release(first)).then(released)
  given(nodeClaimDecider, released).when(ask(first)).then()
  // Another account's node stays with it.
  const other = { type: 'NodeReleased', v: 1, data: { accountId: second } } as const
  given(nodeClaimDecider, claimed).when(release(second)).then(other)
  given(nodeClaimDecider, claimed, other).when(ask(first)).then()
})
