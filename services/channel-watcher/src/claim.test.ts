import { given } from '@penstock/testkit/given.ts'
import { test } from 'vitest'
import { outpointClaimDecider } from './claim.ts'

const [first, second] = ['01890000-0000-7000-8000-000000000001', '01890000-0000-7000-8000-000000000002']
const claim = (orderId: string, attempt = 1) => ({ type: 'ClaimOutpoint' as const, data: { orderId, attempt } })
const claimed = { type: 'OutpointClaimed', v: 1, data: { orderId: first, attempt: 1 } } as const
const refused = (orderId: string, attempt: number) =>
  ({ type: 'OutpointClaimRefused', v: 1, data: { orderId, attempt } }) as const

test('the first attempt that claims an outpoint gets it', () => {
  given(outpointClaimDecider).when(claim(first)).then(claimed)
  given(outpointClaimDecider, claimed).when(claim(first)).then()
})
test('every other order and every other attempt is refused once', () => {
  given(outpointClaimDecider, claimed).when(claim(second)).then(refused(second, 1))
  given(outpointClaimDecider, claimed).when(claim(first, 2)).then(refused(first, 2))
  given(outpointClaimDecider, claimed, refused(second, 1)).when(claim(second)).then()
  given(outpointClaimDecider, claimed, refused(second, 1)).when(claim(second, 2)).then(refused(second, 2))
})
