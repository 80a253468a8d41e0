# what: classes, inheritance, super, properties
# expect: ["rectangle: 7.0", "square: 16.0"]
class Shape:
    def __init__(self, name):
        self.name = name

    @property
    def area(self):
        raise NotImplementedError

    def describe(self):
        return f"{self.name}: {self.area:.1f}"


class Rectangle(Shape):
    def __init__(self, width, height):
        super().__init__("rectangle")
        self.width, self.height = width, height

    @property
    def area(self):
        return self.width * self.height


class Square(Rectangle):
    def __init__(self, side):
        super().__init__(side, side)
        self.name = "square"


[shape.describe() for shape in (Rectangle(2, 3.5), Square(4))]
