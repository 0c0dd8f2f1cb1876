import { parseSync, type StaticImport } from 'oxc-parser'

export type Import = { readonly specifier: string; readonly line: number; readonly typeOnly: boolean }

/** One TypeScript file as the rules see it. Rules are functions of sources, so that a fixture is three lines of text. */
export type Source = {
  /** From the root of the checkout, with slashes: `services/order/src/order.ts`. */
  readonly path: string
  readonly text: string
  readonly lines: number
  /** `import`, `export … from` and `import()` alike. */
  readonly imports: readonly Import[]
  readonly exports: { readonly own: number; readonly passedOn: number; readonly star: boolean }
}

export function source(path: string, text: string): Source {
  const { module } = parseSync(path, text)
  const lineAt = (offset: number) => text.slice(0, offset).split('\n').length
  const passedOn = module.staticExports.flatMap(({ entries }) => entries.filter((entry) => entry.moduleRequest !== null))
  const own = module.staticExports.flatMap(({ entries }) => entries.filter((entry) => entry.moduleRequest === null))

  const statements = module.staticImports.map((statement) => ({
    specifier: statement.moduleRequest.value,
    line: lineAt(statement.start),
    typeOnly: isTypeOnly(text, statement),
  }))
  const reExports = passedOn.map((entry) => ({
    specifier: entry.moduleRequest?.value ?? '',
    line: lineAt(entry.start),
    typeOnly: entry.isType,
  }))
  const dynamic = module.dynamicImports.map(({ start, moduleRequest }) => ({
    specifier: text.slice(moduleRequest.start, moduleRequest.end).replace(/^['"`]|['"`]$/g, ''),
    line: lineAt(start),
    typeOnly: false,
  }))
  return {
    path,
    text,
    lines: text.trimEnd().split('\n').length,
    imports: [...statements, ...reExports, ...dynamic],
    exports: {
      own: own.length,
      passedOn: passedOn.length,
      star: passedOn.some((entry) => String(entry.importName.kind).startsWith('All')),
    },
  }
}

/** `import { type A }` is loaded at run time, empty as it is; only `import type { A }` is not. */
const isTypeOnly = (text: string, statement: StaticImport): boolean => /^import\s+type\b/.test(text.slice(statement.start))
