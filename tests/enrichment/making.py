"""Small inventories and what is asked of them, for the tests of the pure parts."""

from actors.enrichment.asking import AskedField, AskedOperation
from schema.enrichment.inventory import Direction, Field, Inventory, Location, Operation, operation_key


def field(
    token: str,
    *,
    location: Location = "response",
    status: str = "200",
    path: str = "",
    schema: str = "",
    title: str = "",
    description: str = "",
    values: tuple[str, ...] = (),
) -> Field:
    path = path or token
    return Field(
        location=location,
        status=status if location == "response" else "",
        path=path,
        token=token,
        schema_name=schema,
        pointer=f"/components/schemas/{schema}/properties/{token}" if schema else f"/inline/{location}/{status}/{path}",
        type="string",
        title=title,
        description=description,
        values=values,
    )


def query(token: str, *, title: str = "", description: str = "", values: tuple[str, ...] = ()) -> Field:
    return field(token, location="query", title=title, description=description, values=values)


def operation(
    path: str,
    *fields: Field,
    method: str = "GET",
    operation_id: str = "",
    summary: str = "",
    description: str = "",
    cut: int = 0,
) -> Operation:
    def going(direction: Direction) -> tuple[Field, ...]:
        return tuple(one for one in fields if one.direction == direction)

    return Operation(
        key=operation_key(method, path, operation_id),
        method=method,
        path=path,
        operation_id=operation_id,
        pointer=f"/paths/{path.replace('/', '~1')}/{method.lower()}",
        summary=summary,
        description=description,
        inputs=going("input"),
        outputs=going("output"),
        cut=cut,
    )


def inventory(*operations: Operation, title: str = "Water Quality", description: str = "") -> Inventory:
    return Inventory(
        spec_version="3.0.3", media="json", title=title, description=description, operations=tuple(operations)
    )


def asked(operation: Operation, *, name: bool = True) -> AskedOperation:
    """Everything of an operation is asked."""
    return AskedOperation(
        operation,
        name,
        tuple(AskedField(one, name=True, description=True) for one in operation.inputs),
        tuple(AskedField(one, name=True, description=True) for one in operation.outputs),
    )
