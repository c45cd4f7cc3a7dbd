/** What dependents and dormant ones have over others of the same priority: a chain that began should end. */
export const DEPENDENT_PRIORITY_BOOST = 16;
