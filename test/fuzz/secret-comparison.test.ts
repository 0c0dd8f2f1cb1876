import { requireOperatorToken } from '@penstock/gateway/operator/http.ts'
import { isSameSecret } from '@penstock/credentials/credentials.ts'
import assert from 'node:assert/strict'
import { parseSync } from 'oxc-parser'
import { describe, expect, test } from 'vitest'
import { repositoryFiles, readRepositoryFile } from '../architecture/repository.ts'

/** Names of secrets, and of values that are derived from secrets. */
const SECRET = /(?:token|secret|seal|mac|signature|pepper|credential|password|preimage|apiKey|sessionKey)$/i
/** Syntax nodes of constants. A comparison with a constant reveals nothing about a secret. */
const PLAIN = new Set(['Literal', 'TemplateLiteral', 'UnaryExpression'])

type Node = { readonly type: string; readonly start: number } & Readonly<Record<string, unknown>>
const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value

function* listNodes(value: unknown): Generator<Node> {
  if (Array.isArray(value)) for (const one of value) yield* listNodes(one)
  else if (isNode(value)) {
    yield value
    for (const inner of Object.values(value)) if (typeof inner === 'object') yield* listNodes(inner)
  }
}

const getNodeName = (node: unknown): string => {
  if (!isNode(node)) return ''
  if (node.type === 'MemberExpression') return getNodeName(node['property'])
  return typeof node['name'] === 'string' ? node['name'] : ''
}

/** Finds comparisons of secrets by === or !==, which end at the first different character. */
function findUnsafeComparisons(path: string, text: string): readonly string[] {
  return [...listNodes(parseSync(path, text).program)].flatMap((node) => {
    const isComparison = node.type === 'BinaryExpression' && /^[!=]==?$/.test(String(node['operator']))
    const [left, right] = [node['left'], node['right']]
    const isPlain = [left, right].some((side) => isNode(side) && (PLAIN.has(side.type) || getNodeName(side) === 'undefined'))
    if (!isComparison || isPlain || ![left, right].some((side) => SECRET.test(getNodeName(side)))) return []
    return [`${path}:${text.slice(0, node.start).split('\n').length}`]
  })
}

describe('the comparison of secrets', () => {
  test('never uses === or !==', () => {
    const shipped = repositoryFiles.filter(
      (path) => /^(?:services|packages)\/[\w-]+\/src\/.*\.ts$/.test(path) && !/\.(?:test|contract|fixture|child)\.ts$/.test(path),
    )
    assert.ok(shipped.length > 200)
    expect(shipped.flatMap((path) => findUnsafeComparisons(path, readRepositoryFile(path)))).toEqual([])
  })

  test('is found if it uses === or !==', () => {
    assert.deepEqual(findUnsafeComparisons('x.ts', 'const a = (given: string, token: string) => given === token'), ['x.ts:1'])
    assert.deepEqual(findUnsafeComparisons('x.ts', 'const a = (o: { seal: string }, b: string) =>\n  b !== o.seal'), ['x.ts:2'])
    assert.deepEqual(findUnsafeComparisons('x.ts', "const a = (token: string) => token === '' || token === undefined"), [])
  })

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
