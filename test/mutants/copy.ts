import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readlinkSync, realpathSync } from 'node:fs'
import { rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'

/** The checkout that is tested. */
export const root = join(import.meta.dirname, '../..')

export type Copy = { readonly folder: string; remove(): void }

/**
 * A copy of the checkout as it is now, committed or not, in a folder of the system's. Its links to workspace packages
 * are relative, as the package manager made them, and so lead into the copy; only what came from outside is shared.
 */
export function copyOfCheckout(): Copy {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'penstock-mutants-')))
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((path) => path !== '' && existsSync(join(root, path)))
  for (const path of files) {
    mkdirSync(join(folder, dirname(path)), { recursive: true })
    cpSync(join(root, path), join(folder, path), { recursive: true, verbatimSymlinks: true })
  }
  for (const path of files.filter((file) => /(^|\/)package\.json$/.test(file))) {
    const modules = join(dirname(path), 'node_modules')
    if (existsSync(join(root, modules))) linkModules(join(root, modules), join(folder, modules))
  }
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }) }
}

/** The store of what came from outside, which nothing here changes. */
const STORE = '.pnpm'

function linkModules(from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  for (const name of readdirSync(from)) {
    const [source, target] = [join(from, name), join(to, name)]
    if (name === STORE) symlinkSync(source, target)
    else if (lstatSync(source).isSymbolicLink()) linkAgain(source, target)
    // Caches and commands stay behind; a scope has links of its own.
    else if (name.startsWith('@')) linkModules(source, target)
  }
}

function linkAgain(source: string, target: string): void {
  const to = readlinkSync(source)
  if (isAbsolute(to)) throw new Error(`${source} is no relative link: a copy would use this checkout's packages, not its own.`)
  symlinkSync(to, target)
}
