import assert from 'node:assert/strict'
import { parseSync } from 'oxc-parser'
import { describe, expect, test } from 'vitest'
import { repositoryFiles, readRepositoryFile } from './repository.ts'

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
})
