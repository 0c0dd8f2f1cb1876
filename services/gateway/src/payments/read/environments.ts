import type { Views } from '@penstock/ports/views.ts'
import { invalidInput } from '../../errors.ts'
import { countTotal, type ListPage, type Page } from '../../list-page.ts'
import { type PaymentsCaller, seesContent, seesEnvironment } from '../access.ts'
import { type PaymentsTables, withPaymentsTables } from '../views/tables.ts'

type Db = Pick<Views, 'db'>
export type EnvironmentRow = PaymentsTables['gateway_environments']

/** Finds an environment that is not deleted. */
export const findEnvironment = (views: Db, id: string): Promise<EnvironmentRow | undefined> =>
  withPaymentsTables(views)
    .selectFrom('gateway_environments')
    .selectAll()
    .where('id', '=', id)
    .where('deleted', '=', 0)
    .executeTakeFirst()

const notFound = () => invalidInput('Environment not found')

/** @throws the error for an unknown environment, also if the caller does not see the environment */
export async function requireEnvironment(views: Db, caller: PaymentsCaller, id: string): Promise<EnvironmentRow> {
  const environment = await findEnvironment(views, id)
  if (!environment || !seesEnvironment(caller, environment)) throw notFound()
  return environment
}

/**
 * Finds an environment whose wallets and transactions the caller sees.
 * @throws the error for an unknown environment, also for another environment that the caller's key created
 */
export async function requireOwnEnvironment(views: Db, caller: PaymentsCaller, id: string): Promise<EnvironmentRow> {
  const environment = await findEnvironment(views, id)
  if (!environment || !seesContent(caller, environment)) throw notFound()
  return environment
}

/** Lists the environments that the caller sees, newest first. */
export async function listEnvironments(
  views: Db,
  { teamId, key }: PaymentsCaller,
  page: Page,
): Promise<ListPage<EnvironmentRow>> {
  const environments = withPaymentsTables(views)
    .selectFrom('gateway_environments')
    .where('team_id', '=', teamId)
    .where('deleted', '=', 0)
    .$if(key !== null, (query) =>
      query.where((where) => where.or([where('id', '=', key?.environmentId ?? ''), where('key_id', '=', key?.id ?? '')])),
    )
  const list = await environments
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit)
    .offset(page.offset)
    .execute()
  const total = await countTotal(page, list.length, () =>
    environments.select((count) => count.fn.countAll().as('total')).executeTakeFirstOrThrow(),
  )
  return { total, list }
}

/** Counts the wallets of an environment that are not deleted. */
export async function countWallets(views: Db, environmentId: string): Promise<number> {
  const { total } = await withPaymentsTables(views)
    .selectFrom('gateway_wallets')
    .select((count) => count.fn.countAll().as('total'))
    .where('environment_id', '=', environmentId)
    .where('deleted', '=', 0)
    .executeTakeFirstOrThrow()
  return Number(total)
}
