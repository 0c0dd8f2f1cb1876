import { randomInt } from 'node:crypto'
import { type Command, Option } from 'commander'
import type { Surroundings } from '../load/perform.ts'
import { ARRIVALS, count, mix, nodeUri, rate, sellers, type Settings, span } from '../load/settings.ts'
import { leaf } from '../shell.ts'

type Options = Omit<
  Settings,
  | 'ratePerSecond'
  | 'privatePercent'
  | 'seed'
  | 'durationMs'
  | 'drainMs'
  | 'timeoutMs'
  | 'pollMs'
  | 'sellers'
  | 'to'
  | 'allowUnfinished'
  | 'allowShed'
> & {
  readonly to?: Settings['to']
  readonly url?: string
  readonly rate: number
  readonly private: number
  readonly seed?: number
  readonly duration: number
  readonly drain: number
  readonly timeout: number
  readonly poll: number
  readonly sellers?: Settings['sellers']
  readonly allowUnfinished?: boolean
  readonly allowShed?: boolean
  readonly out?: string
  readonly iOwnThis?: boolean
  readonly json?: boolean
}

const MIX = 'buy:70,lsps1:20,manual:5,abandon:5'

export function loadCommand(program: Command, shell: Surroundings): void {
  const about = 'load a market with orders at a fixed rate, time every step, and check in the end that all is well'
  const example = 'load --orders 300 --rate 5 --mix buy:80,lsps1:20 --sellers good:90,fails:10 --out report.html'
  const command = leaf(program, 'load', about, example)
  addWhat(command)
  addBounds(command)
  command.action(async (options: Options) => {
    // Everything else of the command line starts without it.
    const { perform } = await import('../load/perform.ts')
    await perform({ ...options, settings: settingsOf(options) }, shell)
  })
}

function addWhat(command: Command): void {
  command
    .option('--url <address>', 'the market; PENSTOCK_URL where it is left out')
    .option('--orders <n>', 'how many orders', count('orders', 1, 1_000_000), 100)
    .option('--rate <n>', 'orders that begin each second, whatever became of those before', rate, 2)
    .addOption(new Option('--mix <shares>', 'what orders are, in percent of each kind').argParser(mix).default(mix(MIX), MIX))
    .option('--sellers <shares>', 'how the sellers of a simulated network behave, as good:80,slow:10,fails:10', sellers)
    .addOption(
      new Option('--arrivals <how>', 'evenly spaced, or as independent people come').choices(ARRIVALS).default('poisson'),
    )
    .option('--private <percent>', 'of how many orders a private channel is wanted', count('percent', 0, 100), 0)
    .option('--seed <n>', 'the same orders at the same moments again', count('anything', 0, 2 ** 32 - 1))
    .option('--to <uri>', 'a node that is to receive the channels (may be repeated); else the buyers of the simulation', nodeUri)
    .option('--out <file>', 'write the report, a page that needs nothing else')
}

function addBounds(command: Command): void {
  const time = (flags: string, about: string, standard: string): void =>
    void command.addOption(new Option(flags, about).argParser(span).default(span(standard), standard))
  time('--duration <time>', 'no order begins later', '30m')
  time('--drain <time>', 'how long to wait for orders after the last began, and then for payouts', '3m')
  time('--timeout <time>', 'for each request, and before it for a connection', '15s')
  time('--poll <time>', 'how often a buyer asks for its order', '1s')
  command
    .option('--max-in-flight <n>', 'orders under way at once; what is due beyond is shed', count('orders', 1, 100_000), 500)
    .option('--allow-errors <n>', 'errors that do not make it fail', count('errors', 0, 1_000_000), 0)
    .option('--allow-unfinished', 'paid orders that are under way at the drain limit do not make it fail')
    .option('--allow-shed', 'orders and beats that were due and are shed or held back do not make it fail')
    .option('--i-own-this', 'load a market that is not on the loopback of this machine')
}

function settingsOf(options: Options): Settings {
  const { orders, mix: kinds, arrivals: how, maxInFlight, allowErrors } = options
  return {
    orders,
    ratePerSecond: options.rate,
    privatePercent: options.private,
    mix: kinds,
    sellers: options.sellers ?? null,
    arrivals: how,
    seed: options.seed ?? randomInt(2 ** 32),
    to: options.to ?? [],
    durationMs: options.duration,
    drainMs: options.drain,
    timeoutMs: options.timeout,
    pollMs: options.poll,
    maxInFlight,
    allowErrors,
    allowUnfinished: options.allowUnfinished ?? false,
    allowShed: options.allowShed ?? false,
  }
}
