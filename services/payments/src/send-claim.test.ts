import { uuidFor } from '@penstock/testkit/book-entries.ts'
import { given } from '@penstock/testkit/given.ts'
import { test } from 'vitest'
import { sendClaimDecider } from './send-claim.ts'

const [first, second] = [uuidFor(1), uuidFor(2)]
const claim = (sendId: string) => ({ type: 'ClaimHash' as const, data: { sendId } })
const release = (sendId: string) => ({ type: 'ReleaseHash' as const, data: { sendId } })
const granted = (sendId: string) => ({ type: 'HashGranted', v: 1, data: { sendId } }) as const
const refused = { type: 'HashRefused', v: 1, data: { sendId: second, ofSendId: first } } as const
const released = { type: 'HashReleased', v: 1, data: { sendId: first } } as const

test('the first send gets the payment hash, and each other send is refused once', () => {
  given(sendClaimDecider).when(claim(first)).then(granted(first))
  given(sendClaimDecider, granted(first)).when(claim(first)).then()
  given(sendClaimDecider, granted(first)).when(claim(second)).then(refused)
  given(sendClaimDecider, granted(first), refused).when(claim(second)).then()
})

test('another send gets a payment hash that was given back', () => {
  given(sendClaimDecider, granted(first)).when(release(first)).then(released)
  given(sendClaimDecider, granted(first), released).when(release(first)).then()
  given(sendClaimDecider, granted(first), released).when(claim(second)).then(granted(second))
})

test('only the owner gives a payment hash back', () => {
  given(sendClaimDecider).when(release(first)).then()
  given(sendClaimDecider, granted(first)).when(release(second)).then()
  given(sendClaimDecider, granted(first), released, granted(second)).when(release(first)).then()
})

test('a send that was refused or has ended never gets the payment hash by a repeated claim', () => {
  given(sendClaimDecider, granted(first), released).when(claim(first)).then()
  given(sendClaimDecider, granted(first), refused, released).when(claim(second)).then()
})
