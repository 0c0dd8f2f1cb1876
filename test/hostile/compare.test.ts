import { operatorOnly } from '@penstock/gateway/operator/answers.ts'
import { isSame } from '@penstock/runtime/credentials.ts'
import assert from 'node:assert/strict'
import { parseSync } from 'oxc-parser'
import { describe, expect, test } from 'vitest'
import { files, read } from '../architecture/repository.ts'

/** What names a secret, or something made of one. */
const SECRET = /(?:token|secret|seal|mac|signature|pepper|credential|password|preimage|apiKey|sessionKey)$/i
/** Text that is compared with a constant tells nothing of a secret. */
const PLAIN = new Set(['Literal', 'TemplateLiteral', 'UnaryExpression'])

type Node = { readonly type: string; readonly start: number } & Readonly<Record<string, unknown>>
const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value

function* nodesIn(value: unknown): Generator<Node> {
  if (Array.isArray(value)) for (const one of value) yield* nodesIn(one)
  else if (isNode(value)) {
    yield value
    for (const inner of Object.values(value)) if (typeof inner === 'object') yield* nodesIn(inner)
  }
}

const nameOf = (node: unknown): string => {
  if (!isNode(node)) return ''
  if (node.type === 'MemberExpression') return nameOf(node['property'])
  return typeof node['name'] === 'string' ? node['name'] : ''
}

/** Comparisons of secrets that end at the first difference. */
function hasty(path: string, text: string): readonly string[] {
  return [...nodesIn(parseSync(path, text).program)].flatMap((node) => {
    const isComparison = node.type === 'BinaryExpression' && /^[!=]==?$/.test(String(node['operator']))
    const [left, right] = [node['left'], node['right']]
    const isPlain = [left, right].some((side) => isNode(side) && (PLAIN.has(side.type) || nameOf(side) === 'undefined'))
    if (!isComparison || isPlain || ![left, right].some((side) => SECRET.test(nameOf(side)))) return []
    return [`${path}:${text.slice(0, node.start).split('\n').length}`]
  })
}

describe('secrets are compared in a time that says nothing', () => {
  test('nowhere with === or !==', () => {
    const shipped = files.filter(
      (path) => /^(?:services|packages)\/[\w-]+\/src\/.*\.ts$/.test(path) && !/\.(?:test|contract)\.ts$/.test(path),
    )
    assert.ok(shipped.length > 200)
    expect(shipped.flatMap((path) => hasty(path, read(path)))).toEqual([])
  })

  test('the look notices one', () => {
    assert.deepEqual(hasty('x.ts', 'const a = (given: string, token: string) => given === token'), ['x.ts:1'])
    assert.deepEqual(hasty('x.ts', 'const a = (o: { seal: string }, b: string) =>\n  b !== o.seal'), ['x.ts:2'])
    assert.deepEqual(hasty('x.ts', "const a = (token: string) => token === '' || token === undefined"), [])
  })

  /** The quickest of many, in turns: a busy machine makes both slower, and neither quicker than it is. */
  function ratioOf(compare: (one: string, other: string) => boolean): number {
    const length = 4_000_000
    const secret = 'a'.repeat(length)
    const early = `b${secret.slice(1)}`
    const late = `${secret.slice(1)}b`
    // Joined texts are made flat by looking at them.
    for (const text of [secret, early, late]) assert.equal(Buffer.byteLength(text), length)
    const quickest = { early: Infinity, late: Infinity }
    // The quickest of many: on a busy machine few of them run undisturbed.
    for (let round = 0; round < 60 || (round < 600 && !isAlike(quickest)); round++)
      for (const [name, guess] of [
        ['early', early],
        ['late', late],
      ] as const) {
        const began = process.hrtime.bigint()
        assert.equal(compare(guess, secret), false)
        quickest[name] = Math.min(quickest[name], Number(process.hrtime.bigint() - began))
      }
    return quickest.late / quickest.early
  }

  const isAlike = ({ early, late }: { readonly early: number; readonly late: number }): boolean =>
    late / early > 0.8 && late / early < 1.25

  type Door = ReturnType<typeof operatorOnly>
  /** The operator's door itself, without a server: whether it lets pass. */
  const door = (only: typeof operatorOnly) => {
    const doors = new Map<string, Door>()
    const headers = new Map<string, string>()
    return (given: string, token: string): boolean => {
      const check = doors.get(token) ?? only(token, () => undefined)
      doors.set(token, check)
      let passed = false
      // Joined once, since that takes longer than to compare.
      const header = headers.get(given) ?? `Bearer ${given}`
      headers.set(given, header)
      const request = { header: () => header }
      const response = { status: () => ({ json: () => undefined }) }
      // Only what the door asks for.
      void check(request as unknown as Parameters<Door>[0], response as unknown as Parameters<Door>[1], () => (passed = true))
      return passed
    }
  }
  const leaking: typeof operatorOnly = (token) => (request, _, next) => {
    if (request.header('authorization')?.slice(7) === token) next()
  }
  const ways: readonly (readonly [string, (one: string, other: string) => boolean])[] = [
    ['isSame', isSame],
    ["the operator's door", door(operatorOnly)],
  ]

  test.each(ways)(
    '%s takes as long for a difference at the end as for one at the beginning',
    { timeout: 60_000 },
    (what, compare) => {
      assert.ok(compare('the same', 'the same') && !compare('the same', 'the sane'))
      const ratio = ratioOf(compare)
      console.log(`late to early: ${what} ${ratio.toFixed(3)}`)
      assert.ok(ratio > 0.8 && ratio < 1.25, `${ratio}`)
    },
  )

  test('the clock would notice a difference, at the door too', { timeout: 60_000 }, () => {
    for (const compare of [(one: string, other: string) => one === other, door(leaking)]) {
      const ratio = ratioOf(compare)
      assert.ok(ratio > 5, `${ratio}`)
    }
  })
})
