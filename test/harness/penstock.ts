import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { machine } from './product.ts'

const ROOT = join(import.meta.dirname, '../..')

export type Printed<T> = { readonly code: number | null; readonly err: string; readonly answer: T }

/** The command line as an operator runs it, with `--json`. `answer` is undefined where it printed none. */
export async function penstock<T>(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  checkout = ROOT,
): Promise<Printed<T>> {
  const child = spawn(process.execPath, [join(checkout, 'packages/cli/src/main.ts'), ...args, '--json'], {
    env: { ...machine(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const printed = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed.out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (printed.err += text))
  const [code] = (await once(child, 'close')) as [number | null] // as node types its event
  return { code, err: printed.err, answer: (printed.out === '' ? undefined : JSON.parse(printed.out)) as T } // the caller says what it asked for
}
