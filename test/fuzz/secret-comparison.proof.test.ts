import assert from 'node:assert/strict'
import { requireOperatorToken } from '@penstock/gateway/operator/http.ts'
import { isSameSecret } from '@penstock/credentials/credentials.ts'
import { describe, test } from 'vitest'

describe('the comparison of secrets', () => {
  /** Measures the fastest time for a difference at the end, divided by the fastest time for a difference at the beginning. */
  function ratioOf(compare: (one: string, other: string) => boolean): number {
    const length = 4_000_000
    const secret = 'a'.repeat(length)
    const early = `b${secret.slice(1)}`
    const differingAtEnd = `${secret.slice(1)}b`
    // V8 stores a concatenated string in pieces until the first read. This read joins the pieces before the measurement.
    for (const text of [secret, early, differingAtEnd]) assert.equal(Buffer.byteLength(text), length)
    const quickest = { early: Infinity, late: Infinity }
    // The fastest of many rounds counts, because other processes delay most rounds on a busy machine.
    for (let round = 0; round < 60 || (round < 600 && !isAlike(quickest)); round++)
      for (const [name, guess] of [
        ['early', early],
        ['late', differingAtEnd],
      ] as const) {
        const began = process.hrtime.bigint()
        assert.equal(compare(guess, secret), false)
        quickest[name] = Math.min(quickest[name], Number(process.hrtime.bigint() - began))
      }
    return quickest.late / quickest.early
  }

  const isAlike = ({ early, late: differingAtEnd }: { readonly early: number; readonly late: number }): boolean =>
    differingAtEnd / early > 0.8 && differingAtEnd / early < 1.25

  type Check = ReturnType<typeof requireOperatorToken>
  /** Calls the check of the operator's token without a server. @returns whether a request passes */
  const createRoute = (requireToken: typeof requireOperatorToken) => {
    const checks = new Map<string, Check>()
    const headers = new Map<string, string>()
    return (presented: string, token: string): boolean => {
      const check = checks.get(token) ?? requireToken(token, () => undefined)
      checks.set(token, check)
      let passed = false
      // Built once, because building takes longer than comparing.
      const header = headers.get(presented) ?? `Bearer ${presented}`
      headers.set(presented, header)
      const request = { header: () => header }
      const response = { status: () => ({ json: () => undefined }) }
      // The check uses only these members of the request and the response.
      void check(request as unknown as Parameters<Check>[0], response as unknown as Parameters<Check>[1], () => (passed = true))
      return passed
    }
  }
  const leaking: typeof requireOperatorToken = (token) => (request, _, next) => {
    if (request.header('authorization')?.slice(7) === token) next()
  }
  const comparisons: readonly (readonly [string, (one: string, other: string) => boolean])[] = [
    ['isSame', isSameSecret],
    ["the operator's check", createRoute(requireOperatorToken)],
  ]

  test.each(comparisons)(
    'takes equally long for a difference at the end and at the beginning: %s',
    { timeout: 60_000 },
    (what, compare) => {
      assert.ok(compare('the same', 'the same') && !compare('the same', 'the sane'))
      const ratio = ratioOf(compare)
      console.log(`late to early: ${what} ${ratio.toFixed(3)}`)
      assert.ok(ratio > 0.8 && ratio < 1.25, `${ratio}`)
    },
  )

  test('is measured precisely enough to reveal an early exit, also in the operator’s check', { timeout: 60_000 }, () => {
    for (const compare of [(one: string, other: string) => one === other, createRoute(leaking)]) {
      const ratio = ratioOf(compare)
      assert.ok(ratio > 5, `${ratio}`)
    }
  })
})
