import { type Comment, parseSync, type StaticImport } from 'oxc-parser'

export type ImportStatement = { readonly specifier: string; readonly line: number; readonly isTypeOnly: boolean }

/** The parts of a TypeScript file that the rules check. A test of a rule parses a short text as its fixture. */
export type Source = {
  /** Relative to the root of the checkout, with slashes, such as `services/order/src/order.ts`. */
  readonly path: string
  readonly text: string
  readonly lines: number
  /** Specifiers of `import`, `export … from` and `import()`. */
  readonly imports: readonly ImportStatement[]
  readonly exports: { readonly own: number; readonly reExported: number; readonly hasStar: boolean }
  /** The exported names that the file itself defines. */
  readonly exportedNames: readonly string[]
  /** Comments without their marks. Consecutive line comments are one comment. */
  readonly comments: readonly TextAt[]
  readonly testTitles: readonly TextAt[]
}

export type TextAt = { readonly line: number; readonly text: string }

export function parseSource(path: string, text: string): Source {
  const { module, comments, program } = parseSync(path, text)
  const lineAt = (offset: number) => text.slice(0, offset).split('\n').length
  const reExported = module.staticExports.flatMap(({ entries }) => entries.filter((entry) => entry.moduleRequest !== null))
  const own = module.staticExports.flatMap(({ entries }) => entries.filter((entry) => entry.moduleRequest === null))

  const statements = module.staticImports.map((statement) => ({
    specifier: statement.moduleRequest.value,
    line: lineAt(statement.start),
    isTypeOnly: isTypeOnly(text, statement),
  }))
  const reExports = reExported.map((entry) => ({
    specifier: entry.moduleRequest?.value ?? '',
    line: lineAt(entry.start),
    isTypeOnly: entry.isType,
  }))
  const dynamic = module.dynamicImports.map(({ start, moduleRequest }) => ({
    specifier: text.slice(moduleRequest.start, moduleRequest.end).replace(/^['"`]|['"`]$/g, ''),
    line: lineAt(start),
    isTypeOnly: false,
  }))
  return {
    path,
    text,
    lines: text.trimEnd().split('\n').length,
    imports: [...statements, ...reExports, ...dynamic],
    exports: {
      own: own.length,
      reExported: reExported.length,
      hasStar: reExported.some((entry) => String(entry.importName.kind).startsWith('All')),
    },
    exportedNames: own.flatMap(({ exportName }) => exportName.name ?? []),
    comments: readComments(text, comments).map(({ start, ...comment }) => ({ ...comment, line: lineAt(start) })),
    testTitles: /\.(?:test|contract)\.ts$/.test(path)
      ? findTestTitles(program).map(({ start, ...title }) => ({ ...title, line: lineAt(start) }))
      : [],
  }
}

type FoundText = { readonly start: number; readonly text: string }

const readComments = (text: string, comments: readonly Comment[]): readonly FoundText[] =>
  comments.flatMap(({ type, value, start }, index) => {
    const previous = comments[index - 1]
    const isContinued = type === 'Line' && previous?.type === 'Line' && /^\s*$/.test(text.slice(previous.end, start))
    return isContinued ? [] : [{ start, text: value.replace(/^[\s*]+/, '') }]
  })

const TEST_FUNCTIONS: ReadonlySet<unknown> = new Set(['test', 'it', 'describe'])

/** Finds titles in the forms `test('…')`, `test.skipIf(…)('…')` and `test.each([…])(`…`)`. */
function findTestTitles(node: unknown): readonly FoundText[] {
  if (Array.isArray(node)) return node.flatMap(findTestTitles)
  if (typeof node !== 'object' || node === null) return []
  const inner = Object.values(node).flatMap(findTestTitles)
  const { type, callee, arguments: values } = node as { type?: unknown; callee?: unknown; arguments?: readonly unknown[] } // any node
  if (type !== 'CallExpression' || !TEST_FUNCTIONS.has(findCalled(callee))) return inner
  const title = readText(values?.[0])
  return title ? [title, ...inner] : inner
}

function findCalled(callee: unknown): unknown {
  const { name, object, callee: called } = callee as { name?: unknown; object?: unknown; callee?: unknown } // any node
  if (object !== undefined) return findCalled(object)
  return called === undefined ? name : findCalled(called)
}

function readText(node: unknown): FoundText | undefined {
  const { type, start, value, quasis } = (node ?? {}) as {
    type?: string
    start?: number
    value?: unknown
    quasis?: readonly { readonly value: { readonly raw: string } }[]
  } // any node
  if (start === undefined) return undefined
  if (type === 'Literal' && typeof value === 'string') return { start, text: value }
  return type === 'TemplateLiteral' ? { start, text: quasis?.[0]?.value.raw ?? '' } : undefined
}

/** Whether a statement is `import type …`. The file of `import { type A }` is loaded at run time all the same. */
const isTypeOnly = (text: string, statement: StaticImport): boolean => /^import\s+type\b/.test(text.slice(statement.start))
